"""A model folder as one GGUF file of a wanted precision, for the engines that read those; made once."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from gguf import MODEL_ARCH, GGMLQuantizationType, GGUFReader, GGUFWriter, LlamaFileType, TokenType, get_tensor_name_map
from gguf.quants import quantize
from gguf.utility import LocalTensor, SafetensorsLocal

from decoder.bench.peers.names import Precision
from decoder.bench.peers.peer import PeerError

SOURCE = "source.gguf"
"""The file that a model of a package came in, beside what was made of it."""

_KINDS: dict[Precision, GGMLQuantizationType] = {
    "fp16": GGMLQuantizationType.F16,
    "int8": GGMLQuantizationType.Q8_0,
    "q8_0": GGMLQuantizationType.Q8_0,
    "q4_1": GGMLQuantizationType.Q4_1,
}
_FILE_TYPES = {
    GGMLQuantizationType.F16: LlamaFileType.MOSTLY_F16,
    GGMLQuantizationType.Q8_0: LlamaFileType.MOSTLY_Q8_0,
    GGMLQuantizationType.Q4_1: LlamaFileType.MOSTLY_Q4_1,
}


def gguf_file(folder: Path, precision: Precision, cache: Path) -> Path:
    """The file for `folder`, made in `cache` where the model did not come as one of that precision.

    Raises PeerError for what is no Llama with a byte-level vocabulary.
    """
    kind = _KINDS[precision]
    if _is_source_of(folder / SOURCE, kind):
        return folder / SOURCE
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise PeerError(f"no safetensors in {folder} to make a GGUF file of: pull the model")
    states = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in weights]
    digest = hashlib.sha256(repr(states).encode()).hexdigest()[:12]
    made = cache / f"{folder.name}-{digest}-{kind.name.lower()}.gguf"
    cache.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{made}.lock"):
        if not made.exists():
            unfinished = made.with_suffix(".unfinished")
            write_gguf(folder, kind, unfinished)
            unfinished.rename(made)
    return made


def write_gguf(folder: Path, kind: GGMLQuantizationType, path: Path) -> None:
    """Writes weights and vocabulary of `folder`: matrices as `kind`, norms as float32. Raises as `gguf_file`.

    The pre-tokenizer is not worked out: engines are given token ids, and must not be given text.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    _check(config)
    writer = GGUFWriter(path, "llama")
    writer.add_file_type(_FILE_TYPES[kind])
    _add_config(writer, config)
    _add_vocabulary(writer, folder, config)
    for name, weight in _weights(folder, config):
        if weight.ndim == 1:
            writer.add_tensor(name, weight)
        else:
            writer.add_tensor(name, quantize(weight, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _is_source_of(file: Path, kind: GGMLQuantizationType) -> bool:
    """Whether most of the matrices of an existing file are of that kind already."""
    if not file.exists():
        return False
    kinds = [tensor.tensor_type for tensor in GGUFReader(file).tensors if len(tensor.shape) > 1]
    return 2 * kinds.count(kind) > len(kinds)


def _check(config: dict[str, Any]) -> None:
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if config.get("model_type") != "llama":
        raise PeerError(f"no GGUF file is made of a {config.get('model_type')!r} model, only of 'llama'")
    if rope.get("rope_type", "default") != "default":
        raise PeerError(f"no GGUF file is made of a model with {rope['rope_type']!r} rotary scaling")


def _add_config(writer: GGUFWriter, config: dict[str, Any]) -> None:
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    rope = config.get("rope_parameters") or config
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads", heads))
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(rope.get("rope_theta", 10000.0))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])


def _add_vocabulary(writer: GGUFWriter, folder: Path, config: dict[str, Any]) -> None:
    spec = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    if spec["model"]["type"] != "BPE" or spec["model"].get("byte_fallback"):
        raise PeerError("a GGUF file is made only of models with a byte-level BPE vocabulary")
    tokens = [f"[PAD{id_}]" for id_ in range(config["vocab_size"])]
    kinds = [TokenType.UNUSED] * len(tokens)
    for text, id_ in spec["model"]["vocab"].items():
        tokens[id_], kinds[id_] = text, TokenType.NORMAL
    for added in spec["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = TokenType.CONTROL if added["special"] else TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in spec["model"]["merges"]])
    for add, end in ((writer.add_bos_token_id, "bos_token_id"), (writer.add_eos_token_id, "eos_token_id")):
        id_ = config.get(end)
        if id_ is not None:
            add(id_[0] if isinstance(id_, list) else id_)


def _weights(folder: Path, config: dict[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Names in a GGUF file and float32 weights, with rotary pairs interleaved as GGUF has them."""
    names = get_tensor_name_map(MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    query_heads = config["num_attention_heads"]
    heads = {"attn_q": query_heads, "attn_k": config.get("num_key_value_heads", query_heads)}
    for file in sorted(folder.glob("*.safetensors")):
        for name, tensor in SafetensorsLocal(file).tensors.items():
            if name == "lm_head.weight" and config.get("tie_word_embeddings"):
                continue
            called = names.get_name(name, try_suffixes=(".weight",))
            if called is None or not called.endswith(".weight"):
                raise PeerError(f"unknown weight {name!r}: no GGUF file is made of a model that has one")
            weight = _float32(tensor)
            part = called.removesuffix(".weight").rpartition(".")[2]
            yield called, _interleaved(weight, heads[part]) if part in heads else weight


def _interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key projection from halves to GGUF's order (rotary pairs together), a head at a time."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _float32(tensor: LocalTensor) -> np.ndarray:
    data = tensor.mmap_bytes()
    match tensor.dtype:
        case "F32":
            weight = data.view(np.float32)
        case "F16":
            weight = data.view(np.float16).astype(np.float32)
        case "BF16":
            weight = (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        case other:
            raise PeerError(f"weights of type {other} cannot be read: a GGUF file is made of F32, F16 or BF16")
    return np.ascontiguousarray(weight).reshape(tensor.shape)
