"""Keys and values at fixed addresses: what CUDA graphs need, and what makes rewinding free."""

from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class StaticKeyValues:
    """One sequence's keys and values in all layers, allocated once.

    It does not know its own length: each forward pass says where its rows go and how far attention looks. Memory
    starts as zeros, since attention multiplies by it, with weight 0, before anything is written there.
    """

    def __init__(self, num_layers: int, slots: int) -> None:
        self._window = _Window()
        self.layers = [_StaticLayer(slots, self._window) for _ in range(num_layers)]
        self.cache = Cache(layers=list(self.layers))
        """What transformers is handed."""

    def point(self, positions: torch.Tensor, num_keys: int) -> None:
        """The next pass writes at `positions` [rows] int64 and sees the first `num_keys` slots."""
        self._window.positions, self._window.num_keys = positions, num_keys

    def clear(self) -> None:
        """Zeros again: numbers that are not finite would reach everything later, even with weight 0."""
        for layer in self.layers:
            if layer.is_initialized:
                layer.keys.zero_()
                layer.values.zero_()

    @property
    def num_bytes(self) -> int:
        """Memory taken by all layers; 0 before the first pass."""
        held = [layer for layer in self.layers if layer.is_initialized]
        return sum(int(layer.keys.nbytes + layer.values.nbytes) for layer in held)


class _Window:
    """Where the rows of the running pass go."""

    def __init__(self) -> None:
        self.positions = torch.empty(0, dtype=torch.int64)
        self.num_keys = 0


class _StaticLayer(CacheLayerMixin):  # type: ignore[misc]  # transformers is not checked
    """Keys and values [1, heads, slots, head_dim] of one layer, on that layer's device."""

    is_sliding = False

    def __init__(self, slots: int, window: _Window) -> None:
        super().__init__()
        self._slots = slots
        self._window = window

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = key_states.new_zeros((*key_states.shape[:-2], self._slots, key_states.shape[-1]))
        self.values = value_states.new_zeros((*value_states.shape[:-2], self._slots, value_states.shape[-1]))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        positions = self._window.positions.to(self.device)
        self.keys.index_copy_(2, positions, key_states)
        self.values.index_copy_(2, positions, value_states)
        return self.keys[:, :, : self._window.num_keys], self.values[:, :, : self._window.num_keys]

    def get_mask_sizes(self, _query_length: int) -> tuple[int, int]:
        return self._window.num_keys, 0

    def get_seq_length(self) -> int:
        """Nobody asks: positions and masks are handed to the model."""
        return 0

    def get_max_length(self) -> int:
        return self._slots
