"""What one model takes at one precision: weights, keys and values, and the room to compute in. All in bytes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from decoder.plan.devices import GIB
from decoder.plan.precision import Precision, matrix_bytes, value_bytes
from decoder.plan.shape import ModelShape
from decoder.torch_engine.shapes import PREFILL_ROWS, SPARE_ROWS, VERIFY_ROWS, key_lengths

CONTEXT_BYTES = GIB // 2
"""CUDA context with the kernels and the libraries' workspaces; on a host Python and its libraries."""
GRAPH_BYTES = GIB // 64
"""A captured graph without its activations; others report 0.5 GiB for 35 graphs of a model of 8B parameters."""


@dataclass(frozen=True)  # no slots: what is asked for again and again is kept
class Footprint:
    """One model, stored at one precision."""

    shape: ModelShape
    precision: Precision

    @property
    def embedding_bytes(self) -> int:
        return self.shape.embedding * self._value

    @property
    def head_bytes(self) -> int:
        """The head and the last norm; a tied head is the embedding."""
        return ((0 if self.shape.tied else self.shape.embedding) + self.shape.last_norm) * self._value

    @cached_property
    def layer_bytes(self) -> int:
        matrices = sum(
            matrix_bytes(rows, columns, self.precision, self.shape.group) for rows, columns in self.shape.matrices
        )
        return matrices + self.shape.layer_vectors * self._value

    @property
    def weights_bytes(self) -> int:
        return self.embedding_bytes + self.shape.layers * self.layer_bytes + self.head_bytes

    @property
    def kv_token_bytes(self) -> int:
        """Keys and values of one token: 2 x layers x kv heads x head dim x bytes."""
        return self.shape.layers * self._layer_kv_token_bytes

    def layer_kv_bytes(self, context_tokens: int) -> int:
        """Keys and values of one layer, allocated for the whole context at once, within the model's own window."""
        return self._layer_kv_token_bytes * min(context_tokens, self.shape.context_length)

    def kv_bytes(self, context_tokens: int) -> int:
        return self.shape.layers * self.layer_kv_bytes(context_tokens)

    @property
    def read_last_bytes(self) -> int:
        """What a token reads behind the layers: the head, also where it is the embedding."""
        return self.head_bytes + (self.embedding_bytes if self.shape.tied else 0)

    def workspace_bytes(self, context_tokens: int, *, graphs: bool) -> int:
        """The most that computing holds at once on a device with a part of this model.

        A prefill chunk in one layer: activations, and scores as attention in plain products keeps them (in 16 bits, as
        float32, and after softmax). Logits of a block in float32, their probabilities, and these sorted. A quantised
        matrix unpacked for its product. Spare slots of the cache. graphs: whether passes are captured as CUDA graphs,
        which hold a chunk a second time.
        """
        tokens = min(context_tokens, self.shape.context_length)
        pass_bytes = self._pass_bytes + PREFILL_ROWS * self.shape.heads * 8 * tokens
        logits_bytes = 3 * SPARE_ROWS * self.shape.vocabulary * 4
        held_bytes = pass_bytes + logits_bytes + SPARE_ROWS * self.kv_token_bytes
        if not graphs:
            return held_bytes
        num_graphs = len(key_lengths(tokens)) * (len(VERIFY_ROWS) + 1)
        return held_bytes + pass_bytes + num_graphs * GRAPH_BYTES

    @property
    def dtype(self) -> Literal["float32", "bfloat16"]:
        """In which the loader computes, and holds what is not quantised."""
        return "float32" if self.precision == "float32" else "bfloat16"

    @property
    def quantisation(self) -> Literal["none", "int8", "int4"]:
        """What the loader makes of the weights: nothing, where the checkpoint is quantised already."""
        if self.shape.stored is None and (self.precision == "int8" or self.precision == "int4"):
            return self.precision
        return "none"

    @cached_property
    def _pass_bytes(self) -> int:
        """What a prefill chunk takes whatever is held before it."""
        shape = self.shape
        projected = shape.query_width + 2 * shape.kv_width
        widths = 4 * shape.hidden + 2 * projected + 3 * shape.intermediate
        activations = PREFILL_ROWS * (widths * self._value + 2 * shape.hidden * 4)
        largest = max(rows * columns for rows, columns in shape.matrices)
        unpacked = 0 if self.precision in ("float32", "bfloat16") else largest * self._value
        return activations + unpacked

    @property
    def _layer_kv_token_bytes(self) -> int:
        return 2 * self.shape.kv_heads * self.shape.head_dim * self._value

    @property
    def _value(self) -> int:
        return value_bytes(self.precision)
