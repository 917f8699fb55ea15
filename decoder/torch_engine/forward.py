"""One forward pass of fixed shape: inputs in memory that stays where it is, recorded where there is a recorder."""

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from decoder.torch_engine.graphs import Program, Recorder
from decoder.torch_engine.masks import Masks
from decoder.torch_engine.shapes import Shape
from decoder.torch_engine.static_cache import StaticKeyValues


class StaticForward:
    """A transformers model as a function of tokens, where they start, and a shape."""

    def __init__(self, model: Any, slots: int, recorder: Recorder | None) -> None:
        """slots: of the cache. recorder: None for passes that are run as they come, whatever their shape."""
        embedding = model.get_input_embeddings().weight
        self.held = StaticKeyValues(model.config.num_hidden_layers, slots)
        self.device: torch.device = embedding.device
        self.model = model
        self._dtype: torch.dtype = embedding.dtype
        self._masks = Masks(model.config)
        self._last_position = int(model.config.max_position_embeddings) - 1
        self._cache_argument = _cache_argument(model)
        self._ids = torch.zeros(slots, dtype=torch.int64, device=self.device)
        self._positions = torch.zeros(slots, dtype=torch.int64, device=self.device)
        self._recorder = recorder
        self._programs: dict[Shape, Program] = {}

    def __call__(self, tokens: Sequence[int], start: int, shape: Shape) -> torch.Tensor:
        """Logits [shape.logits, vocabulary] of `tokens` at `start`, padded at the end; overwritten by the next call.

        Padding repeats the last token; its keys lie beyond what is held, where they are hidden and overwritten.
        """
        padded = [*tokens, *[tokens[-1]] * (shape.rows - len(tokens))]
        with torch.inference_mode():
            self._ids[: shape.rows].copy_(torch.tensor(padded))
            torch.arange(start, start + shape.rows, out=self._positions[: shape.rows])
            return self._program(shape)()

    def clear(self) -> None:
        """As `StaticKeyValues.clear`."""
        with torch.inference_mode():
            self.held.clear()

    def _program(self, shape: Shape) -> Program:
        program = self._programs.get(shape)
        if program is None:
            program = partial(self._run, shape)
            if self._recorder is not None:
                program = self._programs[shape] = self._recorder.record(program)
        return program

    def _run(self, shape: Shape) -> torch.Tensor:
        """What is captured: nothing in here may depend on numbers outside of tensors, `shape` excepted."""
        positions = self._positions[: shape.rows]
        self.held.point(positions, shape.keys)
        output = self.model(
            input_ids=self._ids[None, : shape.rows],
            attention_mask=self._masks(positions, shape.keys, self._dtype),
            position_ids=positions.clamp(max=self._last_position)[None],  # padding may stand beyond the window
            use_cache=True,
            logits_to_keep=shape.logits,
            **{self._cache_argument: self.held.cache},
        )
        logits: torch.Tensor = output.logits[0]
        return logits


def _cache_argument(model: Any) -> str:
    """transformers 5.2x renames `past_key_values` to `cache`."""
    names = inspect.signature(type(model).forward).parameters
    return "cache" if "cache" in names else "past_key_values"
