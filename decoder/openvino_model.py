"""A Llama-architecture model on OpenVINO: the engine for CPUs. Rewinding is free, and so is a prompt seen before."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import openvino
from numpy.typing import NDArray

from decoder.engine import EngineError
from decoder.openvino_engine.blocks import BLOCK, PagedSequence
from decoder.openvino_engine.compress import Reached, compressed
from decoder.openvino_engine.fault import telling_line
from decoder.openvino_engine.graph import build_graph
from decoder.openvino_engine.prepared import Waiting
from decoder.openvino_engine.shape import LlamaShape
from decoder.openvino_engine.weights import ModelWeights, SafeTensors
from drafting.interface import Array, Vocabulary

Precision = Literal["float16", "int8", "int4"]
MAX_ROWS = 256
MIN_ROWS = 8
SPARE_ROWS = 16
"""Padding that may stand behind the last token of a full window."""
_KV_CACHE = re.compile(r"(key|value)_cache\.\d+")


class OpenVinoModel:
    """Logits and keys depend on the tokens alone, to the last bit, if `min_rows` and `max_rows` are chosen so that
    every forward runs the same arithmetic: `decoder.exactness` finds them.

    Several sequences are held, as far as the KV memory goes; one of them is the current one.
    """

    def __init__(
        self,
        graph: openvino.Model,
        shape: LlamaShape,
        *,
        name: str,
        vocabulary: Vocabulary,
        context_length: int,
        kv_bytes: int = 0,
        threads: int = 0,
    ) -> None:
        """kv_bytes: memory for keys and values of all sequences, at least what one needs. threads: 0 is all cores."""
        self.name = name
        self.vocabulary = vocabulary
        self.context_length = context_length
        self.min_rows = MIN_ROWS
        self.max_rows = MAX_ROWS
        self._request = _compile(graph, threads).create_infer_request()
        block_bytes = 2 * shape.num_layers * shape.num_kv_heads * shape.head_dim * BLOCK * 2
        num_blocks = max(kv_bytes // block_bytes, -(-(context_length + SPARE_ROWS) // BLOCK) + 1)
        self._caches = _allocate(self._request, num_blocks)
        self._sequence = PagedSequence(num_blocks)
        self._sizes: set[int] = set()
        self._weights: ModelWeights | SafeTensors | None = None  # what the graph views must outlive it

    @staticmethod
    def load(
        folder: Path,
        *,
        name: str,
        vocabulary: Vocabulary,
        context_length: int,
        precision: Precision,
        cache: Path,
        kv_bytes: int = 0,
        threads: int = 0,
        reached: Reached = lambda _done, _all: None,
        waiting: Waiting = lambda _text: None,
    ) -> "OpenVinoModel":
        """Reads a folder of safetensors. cache: for compressed weights that are made on the way (`reached` follows,
        `waiting` where another process makes some).

        Raises UnsupportedModelError for a model that this engine cannot run, or as `compressed`.
        """
        shape = LlamaShape.read(folder)
        weights: ModelWeights | SafeTensors = ModelWeights(folder)
        if precision != "float16":
            weights = SafeTensors(compressed(folder, precision, cache, reached, waiting))
        context_length = min(context_length, shape.max_positions)
        model = OpenVinoModel(
            build_graph(shape, weights, context_length + SPARE_ROWS),
            shape,
            name=name,
            vocabulary=vocabulary,
            context_length=context_length,
            kv_bytes=kv_bytes,
            threads=threads,
        )
        model._weights = weights
        model._forward([0], 1)  # some weights are read, and brought into another order, only now
        model.rewind(0)
        weights.release()
        return model

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        """As `LanguageModel.extend`, as numpy.

        Raises ValueError where the tokens do not fit, or there are none, and EngineError where OpenVINO fails.
        """
        held = len(self._sequence.tokens)
        if not tokens or held + len(tokens) > self.context_length:
            raise ValueError(f"{len(tokens)} tokens after {held} do not fit a window of {self.context_length} tokens")
        if unknown := [token for token in tokens if not 0 <= token < self.vocabulary.size]:
            raise IndexError(f"token {unknown[0]} is not in a vocabulary of {self.vocabulary.size}")
        wanted = len(tokens) if last is None else last
        rows = []
        try:
            for start in range(0, len(tokens), self.max_rows):
                chunk = tokens[start : start + self.max_rows]
                rows.append(self._forward(chunk, min(len(chunk), max(0, start + len(chunk) - len(tokens) + wanted))))
        except BaseException as error:
            self._sequence.rewind(held)
            if isinstance(error, RuntimeError):
                raise EngineError(
                    f"openvino failed in a forward pass of {self.name} ({telling_line(error)}): if it does so again,"
                    " set engine = 'torch' in config.toml"
                ) from error
            raise
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def rewind(self, length: int) -> None:
        """As `LanguageModel.rewind`. Raises ValueError for a length beyond what is held."""
        if not 0 <= length <= len(self._sequence.tokens):
            raise ValueError(f"cannot rewind to {length} tokens, {len(self._sequence.tokens)} are held")
        self._sequence.rewind(length)

    def recall(self, tokens: Sequence[int]) -> int:
        """As `Recalling.recall`."""
        return self._sequence.recall(tokens)

    def forget(self) -> None:
        """As `Recalling.forget`."""
        self._sequence.forget()

    def _forward(self, tokens: Sequence[int], last: int) -> NDArray[np.float32]:
        """Logits of the last `last` of at most `max_rows` tokens."""
        past, num_rows = len(self._sequence.tokens), max(len(tokens), self.min_rows)
        for source, target in self._sequence.reserve(past + num_rows):
            for cache in self._caches:
                cache[target] = cache[source]
        padded = [*tokens, *[tokens[-1]] * (num_rows - len(tokens))]
        first = min(len(tokens) - last, max(0, num_rows - self.min_rows))  # no product of fewer rows, the head's too
        stop = len(tokens) if len(tokens) - first >= self.min_rows else first + self.min_rows
        self._set(padded, past, np.arange(first, min(stop, num_rows) if last else first + 1))
        self._request.infer()
        if self._weights is not None and num_rows not in self._sizes:
            self._sizes.add(num_rows)  # some sizes of passes bring weights into another order, and read them for that
            self._weights.release()
        self._sequence.tokens.extend(tokens)
        logits: NDArray[np.float32] = self._request.get_output_tensor(0).data[:, 0, : self.vocabulary.size]
        skipped = len(tokens) - last - first
        return logits[skipped : skipped + last].copy()

    def _set(self, tokens: list[int], past: int, rows: NDArray[np.int64]) -> None:
        end = past + len(tokens)
        blocks = self._sequence.table[: -(-end // BLOCK)]
        inputs = {
            "input_ids": np.array(tokens, dtype=np.int64),
            "position_ids": np.arange(past, end, dtype=np.int64),
            "past_lens": np.array([past], dtype=np.int32),
            "subsequence_begins": np.array([0, len(tokens)], dtype=np.int32),
            "block_indices": np.array(blocks, dtype=np.int32),
            "block_indices_begins": np.array([0, len(blocks)], dtype=np.int32),
            "max_context_len": np.array(end, dtype=np.int32),
            "rows": rows,
        }
        for name, value in inputs.items():
            self._request.set_tensor(name, openvino.Tensor(value))


def _compile(graph: openvino.Model, threads: int) -> Any:
    settings: dict[str, Any] = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "KV_CACHE_PRECISION": "f16",
        # a thread bound to a core waits for whatever else runs there
        "ENABLE_CPU_PINNING": False,
        # activations rounded to 8 bits would be faster on some processors and write other text
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
    }
    if threads:
        settings["INFERENCE_NUM_THREADS"] = threads
    return openvino.Core().compile_model(graph, "CPU", settings)


def _allocate(request: Any, num_blocks: int) -> list[NDArray[np.float16]]:
    """Keys and values of every layer [blocks, kv heads, BLOCK, head_dim]; memory is used as blocks are."""
    caches = []
    for port in request.model_inputs:
        name = port.get_any_name()
        if _KV_CACHE.fullmatch(name):
            axes = [num_blocks if axis.is_dynamic else axis.get_length() for axis in port.get_partial_shape()]
            try:
                tensor = openvino.Tensor(port.get_element_type(), openvino.Shape(axes))
            except RuntimeError as error:
                raise MemoryError(f"keys and values of {num_blocks * BLOCK} tokens") from error
            request.set_tensor(name, tensor)
            caches.append(tensor.data)
    return caches
