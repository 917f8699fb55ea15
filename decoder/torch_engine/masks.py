"""Which keys a row may see, from its position alone; so a graph that was captured once serves every position."""

from typing import Any

import torch

_KNOWN = {"full_attention", "sliding_attention"}


class UnsupportedModelError(ValueError):
    """An architecture whose state cannot be rewound to any length."""


class Masks:
    """The attention masks of one architecture."""

    def __init__(self, config: Any) -> None:
        """`config` of transformers. Raises UnsupportedModelError for attention that is neither full nor sliding."""
        self._window: int | None = getattr(config, "sliding_window", None)
        kinds = set(getattr(config, "layer_types", None) or ())
        if unknown := kinds - _KNOWN:
            raise UnsupportedModelError(
                f"{config.model_type} has layers of kind {min(unknown)}, which cannot forget rejected tokens;"
                " choose a model with full or sliding attention"
            )
        self._kinds = kinds or {"sliding_attention" if self._window else "full_attention"}

    def __call__(self, positions: torch.Tensor, num_keys: int, dtype: torch.dtype) -> Any:
        """A mask to add to scores, [1, 1, rows, num_keys]; where layers differ, one for each kind of layer.

        positions: [rows] int64; a row sees itself and what is before it, as far as the window goes.
        """
        keys = torch.arange(num_keys, device=positions.device)
        masks = {kind: self._mask(kind, positions[:, None], keys[None, :], dtype) for kind in sorted(self._kinds)}
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _mask(self, kind: str, rows: torch.Tensor, keys: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        hidden = keys > rows
        if kind == "sliding_attention" and self._window is not None:
            hidden = hidden | (keys <= rows - self._window)
        mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
        return mask.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]
