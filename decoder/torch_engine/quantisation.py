"""Weights of fewer bits: made while loading through torchao, or as the model's folder has them."""

from importlib.util import find_spec
from typing import Any, Literal

Quantisation = Literal["none", "int8", "int4"]
"""Weights only: activations, the embedding and the head keep the dtype."""

_INT4_GROUP = 128


class QuantisationError(ValueError):
    """Weights that cannot be quantised as asked; the text names the remedy."""


def quantisation_arguments(wanted: Quantisation, config: Any, dtype: Any, device: str) -> dict[str, Any]:
    """Arguments of `from_pretrained`: the dtype, and how to quantise.

    A folder that says how its weights are quantised (GPTQ, AWQ, bitsandbytes, fp8, ...) is left to transformers, its
    dtype too. Raises QuantisationError where that is asked for twice, or torchao or a device for it is missing.
    """
    stored = getattr(config, "quantization_config", None)
    if stored is None:
        quantised = {} if wanted == "none" else {"quantization_config": _torchao(wanted, device)}
        return {"dtype": dtype} | quantised
    if wanted != "none":
        raise QuantisationError(
            f'its weights are quantised already ({_method(stored)}), and cannot become {wanted}; set dtype = "auto"'
        )
    return {"dtype": "auto"}


def _torchao(wanted: Quantisation, device: str) -> Any:
    if find_spec("torchao") is None:
        raise QuantisationError(f"{wanted} weights need torchao: pip install 'draftline[gpu]'")
    if wanted == "int4" and not device.startswith("cuda"):
        raise QuantisationError(f"int4 weights need a CUDA device, not {device}; use int8")
    import torchao.quantization
    import transformers

    if wanted == "int8":
        scheme = torchao.quantization.Int8WeightOnlyConfig(set_inductor_config=False)
    else:  # the packing of the kernel that torch brings: it reads 4 bits a weight, and no more
        scheme = torchao.quantization.Int4WeightOnlyConfig(
            group_size=_INT4_GROUP, int4_packing_format="tile_packed_to_4d", set_inductor_config=False
        )
    return transformers.TorchAoConfig(scheme)


def _method(stored: Any) -> str:
    method = stored.get("quant_method") if isinstance(stored, dict) else getattr(stored, "quant_method", None)
    return str(getattr(method, "value", method))
