"""Stand-ins for quantised linear layers, made of what torch itself has; nothing is calibrated."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

_GROUP = 128
_INNER_TILES = 8
_FLOAT8_SCALE = 2.0**-6  # brings weights of about 1 / sqrt(8192) into the range where float8 is finest


class Float8Linear(nn.Module):
    """Weights and activations in float8 (e4m3), for tensor cores. Scales are fixed: no row depends on another."""

    bits = 8
    weight: Tensor
    one: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", (weight / _FLOAT8_SCALE).to(torch.float8_e4m3fn))
        self.register_buffer("one", torch.ones((), device=weight.device))
        self.register_buffer("scale", torch.full((), _FLOAT8_SCALE, device=weight.device))

    def forward(self, rows: Tensor) -> Tensor:
        flat = rows.reshape(-1, rows.shape[-1]).to(torch.float8_e4m3fn)
        product: Tensor = torch._scaled_mm(
            flat, self.weight.t(), scale_a=self.one, scale_b=self.scale, out_dtype=rows.dtype
        )
        return product.view(*rows.shape[:-1], -1)


class Int8Linear(nn.Module):
    """int8 weights with a scale a row, unpacked for each product: what torchao does without a compiler."""

    bits = 8
    weight: Tensor
    scale: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        scale = weight.float().abs().amax(dim=1) / 127
        self.register_buffer("weight", (weight / scale[:, None]).round().to(torch.int8))
        self.register_buffer("scale", scale.to(weight.dtype))

    def forward(self, rows: Tensor) -> Tensor:
        return linear(rows, self.weight.to(rows.dtype)) * self.scale


class Int4Linear(nn.Module):
    """int4 weights in groups of 128 with scale and zero point, for torch's own kernel, which unpacks on the way."""

    bits = 4
    weight: Tensor
    scales: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        grouped = weight.float().view(weight.shape[0], -1, _GROUP)
        low, high = grouped.amin(dim=2), grouped.amax(dim=2)
        scale = (high - low) / 15
        levels = ((grouped - low[:, :, None]) / scale[:, :, None]).round().to(torch.uint8).flatten(1)
        packed = levels[:, ::2] << 4 | levels[:, 1::2]
        self.register_buffer("weight", torch.ops.aten._convert_weight_to_int4pack(packed, _INNER_TILES))
        zero = low + 8 * scale  # the kernel counts levels from -8
        self.register_buffer("scales", torch.stack([scale.t(), zero.t()], dim=2).to(torch.bfloat16).contiguous())

    def forward(self, rows: Tensor) -> Tensor:
        flat = rows.reshape(-1, rows.shape[-1])
        product: Tensor = torch.ops.aten._weight_int4pack_mm(flat, self.weight, _GROUP, self.scales)
        return product.view(*rows.shape[:-1], -1)


LinearKind = type[Float8Linear] | type[Int8Linear] | type[Int4Linear]
KINDS: tuple[LinearKind, ...] = (Float8Linear, Int8Linear, Int4Linear)
