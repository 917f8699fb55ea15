"""A causal language model of transformers behind `extend` and `rewind`: the reference engine, and the one on CUDA."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from decoder.torch_engine.attention import choose_attention
from decoder.torch_engine.device_memory import naming_memory
from decoder.torch_engine.forward import StaticForward
from decoder.torch_engine.graphs import Recorder, recorder_for
from decoder.torch_engine.loading import ModelLoadError, load_model
from decoder.torch_engine.quantisation import Quantisation
from decoder.torch_engine.shapes import PREFILL_ROWS, SPARE_ROWS, FixedShapes, FreeShapes, Rows, Shapes
from drafting.interface import Array, Vocabulary

if TYPE_CHECKING:
    from decoder.config import Dtype  # what a GPU machine runs of ours needs torch and transformers alone

__all__ = ["ModelLoadError", "TorchModel"]

_EXACT_ROWS = 8


class TorchModel:
    """One sequence on one model, with keys and values in memory allocated once.

    Logits come as numpy on CPU and as torch tensors on CUDA. min_rows, max_rows: fewest and most rows of a forward
    pass (padding included), which decide how exact the engine is (see `exactness`); both may be changed at any time.
    """

    def __init__(
        self,
        model: Any,
        *,
        name: str,
        vocabulary: Vocabulary,
        context_length: int,
        min_rows: int | None = None,
        fixed_shapes: bool | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        """`model` is a transformers causal language model in evaluation mode, already on its devices.

        min_rows: 1 by default in float32 on CPU, else 8; a draft model, whose rows nobody compares, takes 1.
        fixed_shapes: passes of few shapes (see `FixedShapes`); by default on CUDA, where each becomes a graph.
        recorder: what records them; by default CUDA graphs where the model allows it.
        Raises ValueError for an architecture that cannot rewind.
        """
        self.name = name
        self.vocabulary = vocabulary
        self.context_length = min(context_length, int(model.config.max_position_embeddings))
        device = model.get_input_embeddings().weight.device
        fixed = device.type == "cuda" if fixed_shapes is None else fixed_shapes
        choose_attention(model, blocked=fixed)
        self._shapes: Shapes = FixedShapes(self.context_length) if fixed else FreeShapes()
        self._sees_everything = fixed  # what lies in the cache beyond the text, too, though with weight 0
        recorder = recorder or (recorder_for(model, device) if fixed else None)
        self._forward = StaticForward(model, self.context_length + SPARE_ROWS, recorder)
        exact = device.type == "cpu" and model.get_input_embeddings().weight.dtype == torch.float32
        self.min_rows = min_rows or (1 if exact else _EXACT_ROWS)
        self.max_rows = PREFILL_ROWS
        self._logits_device = device
        self._length = 0

    @staticmethod
    def load(
        folder: Path,
        *,
        name: str,
        vocabulary: Vocabulary,
        context_length: int,
        dtype: "Dtype",
        device: str,
        quantisation: Quantisation = "none",
        min_rows: int | None = None,
        fixed_shapes: bool | None = None,
    ) -> "TorchModel":
        """Reads a folder as `save_pretrained` writes it, without any network access.

        device: `cpu`, `cuda`, `cuda:N`, `spread` for a large model over all GPUs, or a number of layers for each, as in
            `cuda:0=40,cuda:1=40` (several devices need accelerate).
        quantisation: int8 or int4 weights through torchao. A folder whose weights are quantised is read as it is.
        The others as for the constructor.
        Raises ModelLoadError for a folder that holds no such model, or a device or library that is missing;
        DeviceMemoryError where the model does not fit.
        """
        loaded = TorchModel(
            load_model(folder, name=name, dtype=dtype, device=device, quantisation=quantisation),
            name=name,
            vocabulary=vocabulary,
            context_length=context_length,
            min_rows=min_rows,
            fixed_shapes=fixed_shapes,
        )
        loaded.warm_up()
        return loaded

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        """As `LanguageModel.extend`.

        Raises ValueError where the tokens do not fit, or there are none; IndexError for one that is not in the
        vocabulary; DeviceMemoryError where the device has no room left.
        """
        if not tokens or self._length + len(tokens) > self.context_length:
            raise ValueError(
                f"{len(tokens)} tokens after {self._length} do not fit a window of {self.context_length} tokens"
            )
        if min(tokens) < 0 or max(tokens) >= self.vocabulary.size:  # a CUDA device would not survive it
            raise IndexError(f"a token of {list(tokens)} is not in a vocabulary of {self.vocabulary.size}")
        wanted = len(tokens) if last is None else min(last, len(tokens))
        with naming_memory(self._forward.device, f"{len(tokens)} tokens of {self.name}"):
            logits = self._evaluate(tokens, wanted)
        self._length += len(tokens)
        self._logits_device = logits.device  # of a spread model only a pass tells it
        return logits.numpy() if logits.device.type == "cpu" else logits

    def rewind(self, length: int) -> None:
        """As `LanguageModel.rewind`. Raises ValueError for a length beyond what is held.

        A text that begins anew begins on clean memory, which takes as long as writing the cache once.
        """
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot rewind to {length} tokens, {self._length} are held")
        if length == 0 and self._sees_everything:
            self._forward.clear()
        self._length = length

    def receive(self, row: Array) -> Array:
        """A row of a draft model beside the logits of this model: see `drafting.small_model.Receiving`.

        Between GPUs the host does not wait: the copy runs behind what made the row, while the next draft step is made
        ready, and CUDA holds back what reads it here until it has arrived. Rows on a CPU stay what they are.
        """
        return row.to(self._logits_device, non_blocking=True) if isinstance(row, torch.Tensor) else row

    def warm_up(self) -> None:
        """Allocates the cache and records every verify block, so that no request waits for that. Cache empty after.

        Raises DeviceMemoryError where there is no room.
        """
        self.rewind(0)
        with naming_memory(self._forward.device, f"{self.context_length} tokens of context of {self.name}"):
            for block in self._shapes.decoding(self._rows):
                self._forward([0], block.start, block.shape)
        self.rewind(0)

    @property
    def _rows(self) -> Rows:
        return Rows(self.min_rows, self.max_rows)

    def _evaluate(self, tokens: Sequence[int], wanted: int) -> torch.Tensor:
        """float32 [wanted, vocabulary.size], in memory of its own."""
        rows: list[torch.Tensor] = []
        for block in self._shapes.plan(self._length, len(tokens), wanted, self._rows):
            begin = block.start - self._length
            logits = self._forward(tokens[begin : begin + block.length], block.start, block.shape)
            kept = logits[block.kept if block.wanted else slice(0), : self.vocabulary.size]
            rows.append(kept.to(torch.float32, copy=True))
        return rows[0] if len(rows) == 1 else torch.cat(rows)
