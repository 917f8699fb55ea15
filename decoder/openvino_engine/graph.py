"""A Llama-architecture model as an OpenVINO graph over paged attention (Kwon et al. 2023, arXiv:2309.06180).

The graph is built in memory at every start: the attention node cannot be read back from OpenVINO's own files. Its
inputs are those of OpenVINO's continuous batching, and `rows`: for which of the tokens logits are wanted.
"""

from typing import Any, Protocol

import numpy as np
import openvino
from numpy.typing import NDArray
from openvino import PartialShape, Type, opset15
from openvino.op import Constant, _PagedAttentionExtension

from decoder.openvino_engine.quantisation import GROUP
from decoder.openvino_engine.shape import LlamaShape
from decoder.openvino_engine.weights import Stored

Node = Any
"""OpenVINO's nodes carry their types at run time only."""

_INPUTS = {
    "input_ids": Type.i64,
    "position_ids": Type.i64,
    "past_lens": Type.i32,
    "subsequence_begins": Type.i32,
    "block_indices": Type.i32,
    "block_indices_begins": Type.i32,
    "rows": Type.i64,
}
_END = np.iinfo(np.int64).max


class Source(Protocol):
    """Tensors by name: `ModelWeights`, or one file of compressed weights."""

    def __contains__(self, name: str) -> bool: ...

    def tensor(self, name: str) -> Stored: ...


def build_graph(shape: LlamaShape, source: Source, positions: int) -> openvino.Model:
    """The model, its constants viewing the tensors of `source`.

    positions: how many the rotary tables hold, at least the context length and the longest forward together.
    Raises UnsupportedModelError where a weight is missing.
    """
    return _Builder(shape, source, positions).model()


class _Builder:
    def __init__(self, shape: LlamaShape, source: Source, positions: int) -> None:
        self._shape = shape
        self._source = source
        self._inputs = {name: _parameter(name, kind, 1) for name, kind in _INPUTS.items()}
        self._inputs["max_context_len"] = _parameter("max_context_len", Type.i32, 0)
        where, axis = self._inputs["position_ids"], _whole(0)
        self._cosines, self._sines = (
            opset15.gather(opset15.constant(table), where, axis) for table in shape.rotary_tables(positions)
        )
        self._nothing = _nothing()

    def model(self) -> openvino.Model:
        tokens = opset15.unsqueeze(self._inputs["input_ids"], _whole(1))
        embeddings = self._matrix("model.embed_tokens.weight")
        state = opset15.gather(embeddings, tokens, _whole(0))
        for layer in range(self._shape.num_layers):
            state = self._layer(state, layer)
        state = opset15.gather(state, self._inputs["rows"], _whole(0))
        state = self._norm(state, "model.norm.weight")
        head = embeddings if self._shape.tied else self._matrix("lm_head.weight")
        logits = opset15.matmul(state, head, transpose_a=False, transpose_b=True)
        return openvino.Model([logits], list(self._inputs.values()), "llama")

    def _layer(self, state: Node, layer: int) -> Node:
        prefix = f"model.layers.{layer}."
        normed = self._norm(state, f"{prefix}input_layernorm.weight")
        state = opset15.add(state, self._attention(normed, layer, f"{prefix}self_attn."))
        normed = self._norm(state, f"{prefix}post_attention_layernorm.weight")
        gate = opset15.swish(self._linear(normed, f"{prefix}mlp.gate_proj"))
        gated = opset15.multiply(gate, self._linear(normed, f"{prefix}mlp.up_proj"))
        return opset15.add(state, self._linear(gated, f"{prefix}mlp.down_proj"))

    def _attention(self, state: Node, layer: int, prefix: str) -> Node:
        shape = self._shape
        query = self._rotated(self._linear(state, f"{prefix}q_proj"), shape.num_heads)
        key = self._rotated(self._linear(state, f"{prefix}k_proj"), shape.num_kv_heads)
        value = self._flat(self._linear(state, f"{prefix}v_proj"), shape.num_kv_heads)
        caches = [_parameter(f"{kind}_cache.{layer}", Type.dynamic, 4) for kind in ("key", "value")]
        self._inputs |= {cache.get_friendly_name(): cache for cache in caches}
        node = _PagedAttentionExtension([each.output(0) for each in self._attended(query, key, value, *caches)])
        for name, number in (("head_size", shape.head_dim), ("num_{}_heads", shape.num_kv_heads)):
            for kind in ("k", "v"):
                node.get_rt_info()[name.format(kind) if "{}" in name else f"{kind}_{name}"] = number
        attended = opset15.reshape(node.output(0), _shape(-1, 1, shape.num_heads * shape.head_dim), False)
        return self._linear(attended, f"{prefix}o_proj")

    def _attended(self, query: Node, key: Node, value: Node, key_cache: Node, value_cache: Node) -> list[Node]:
        """The inputs of the attention node; the last sixteen switch on features that are not used here."""
        given = self._inputs
        scale = opset15.constant(np.float32(self._shape.head_dim**-0.5))
        places = [given[name] for name in ("past_lens", "subsequence_begins", "block_indices", "block_indices_begins")]
        no_window, no_slopes = self._nothing[:2]
        return [
            *(query, key, value, key_cache, value_cache, *places),
            *(scale, no_window, no_slopes, given["max_context_len"], *self._nothing[2:]),
        ]

    def _rotated(self, state: Node, heads: int) -> Node:
        """Rotary embedding in halves; written so that OpenVINO makes one node of it."""
        half = self._shape.head_dim // 2
        split = opset15.reshape(state, _shape(0, 0, heads, self._shape.head_dim), True)
        split = opset15.transpose(split, _shape(0, 2, 1, 3))
        last = opset15.slice(split, _shape(half), _shape(_END), _shape(1), _shape(3))
        first = opset15.slice(split, _shape(0), _shape(half), _shape(1), _shape(3))
        minus = opset15.constant(np.full((1, 1, 1, 1), -1.0, dtype=np.float32))
        turned = opset15.concat([opset15.multiply(last, minus), first], -1)
        rotated = opset15.add(opset15.multiply(split, self._cosines), opset15.multiply(turned, self._sines))
        return self._flat(opset15.transpose(rotated, _shape(0, 2, 1, 3)), heads)

    def _flat(self, state: Node, heads: int) -> Node:
        return opset15.reshape(state, _shape(-1, heads * self._shape.head_dim), False)

    def _norm(self, state: Node, name: str) -> Node:
        """RMS normalisation (Zhang, Sennrich 2019, arXiv:1910.07467), likewise one node."""
        gain = self._source.tensor(name).as_float32().reshape(1, 1, -1)
        squares = opset15.power(state, opset15.constant(np.full((1, 1, 1), 2.0, dtype=np.float32)))
        mean = opset15.reduce_mean(squares, _shape(-1), keep_dims=True)
        epsilon = opset15.constant(np.full((1, 1, 1), self._shape.norm_epsilon, dtype=np.float32))
        one = opset15.constant(np.ones((1, 1, 1), dtype=np.float32))
        inverse = opset15.divide(one, opset15.sqrt(opset15.add(mean, epsilon)))
        return opset15.multiply(opset15.multiply(inverse, state), opset15.constant(gain))

    def _linear(self, state: Node, name: str) -> Node:
        product = opset15.matmul(state, self._matrix(f"{name}.weight"), transpose_a=False, transpose_b=True)
        if f"{name}.bias" not in self._source:
            return product
        bias = self._source.tensor(f"{name}.bias").as_float32().reshape(1, 1, -1)
        return opset15.add(product, opset15.constant(bias))

    def _matrix(self, name: str) -> Node:
        """float32 [rows, columns]; OpenVINO multiplies by the compressed form where it has a kernel for it."""
        stored = self._source.tensor(name)
        if f"{name}.zero" in self._source:
            return self._grouped(name, stored)
        if f"{name}.scale" in self._source:
            scale = opset15.constant(self._source.tensor(f"{name}.scale").values)
            wide = opset15.convert(Constant(stored.values, shared_memory=True), Type.f16)
            return opset15.convert(opset15.multiply(wide, scale), Type.f32)
        return opset15.convert(_half(stored), Type.f32)

    def _grouped(self, name: str, stored: Stored) -> Node:
        scale = self._source.tensor(f"{name}.scale").values
        rows, groups = scale.shape
        zeros = opset15.constant(self._source.tensor(f"{name}.zero").values.reshape(rows, groups, 1))
        values = opset15.convert(_nibbles(stored.values, rows, groups, GROUP), Type.f16)
        scales = opset15.constant(scale.reshape(rows, groups, 1))
        wide = opset15.multiply(opset15.subtract(values, zeros), scales)
        return opset15.convert(opset15.reshape(wide, _shape(rows, groups * GROUP), False), Type.f32)


def _parameter(name: str, kind: Type, num_axes: int) -> Node:
    node = opset15.parameter(PartialShape([-1] * num_axes), kind)
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def _half(stored: Stored) -> Node:
    """16 bits as they lie in the file; single precision is rounded to float16."""
    if stored.is_bfloat16:
        tensor = openvino.Tensor(stored.values, openvino.Shape(list(stored.values.shape)), Type.bf16)
        return Constant(tensor, shared_memory=True)
    return Constant(stored.values.astype(np.float16, copy=False), shared_memory=True)


def _nibbles(packed: NDArray[np.uint8], *shape: int) -> Node:
    return Constant(openvino.Tensor(packed, openvino.Shape(list(shape)), Type.u4), shared_memory=True)


def _nothing() -> list[Node]:
    """Constants that switch features of the attention node off, in the order of its inputs: sliding window, ALiBi
    slopes, score aggregation, rotation of cached keys (3), sparse attention (3), sinks, adaptive eviction (8)."""
    empty, zero = (0,), ()
    kinds: list[tuple[Any, tuple[int, ...]]] = [
        (np.int32, zero),
        (np.float32, empty),
        (np.int32, empty),
        (np.int32, empty),
        (np.int32, empty),
        (np.float32, empty),
        (np.float32, empty),
        (np.int32, zero),
        (np.int32, zero),
        (np.float32, (0, 0, 0, 0)),
        (np.int32, zero),
        (np.int32, empty),
        (np.int32, empty),
        (np.int32, empty),
        (np.int32, empty),
        (np.uint8, empty),
        (np.int32, empty),
    ]
    return [opset15.constant(np.zeros(shape, dtype=kind)) for kind, shape in kinds]


def _shape(*numbers: int) -> Node:
    return opset15.constant(np.array(numbers, dtype=np.int64))


def _whole(number: int) -> Node:
    return opset15.constant(np.array(number, dtype=np.int64))
