"""A GGUF file of the Llama architecture as a folder of safetensors, config and tokenizer files.

Numpy only: the weights equal those of transformers' GGUF loader bit for bit, without loading torch.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file
from tokenizers import decoders, models, pre_tokenizers, processors

_CONTROL, _USER_DEFINED = 3, 4
_LAYER_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OTHER_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


class GgufError(Exception):
    """The file is no GGUF, or one that this conversion doesn't know; the text says what it met."""


def convert_gguf(file: Path, folder: Path) -> None:
    """Writes float16 weights, config and tokenizer of `file` into the existing `folder`.

    Raises GgufError for a damaged file, another architecture, or an unknown tensor or pre-tokenizer: a silent
    guess would give a model that writes other text than the original.
    """
    reader = _open(file)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    if fields.get("general.architecture") != "llama":
        raise GgufError(f"{file.name} is of architecture {fields.get('general.architecture')!r}, not 'llama'")
    save_file(_weights(reader, fields), folder / "model.safetensors", metadata={"format": "pt"})
    tied = all(tensor.name != "output.weight" for tensor in reader.tensors)
    _write_json(folder / "config.json", _config(fields, tied))
    _write_json(folder / "generation_config.json", _generation_config(fields))
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(fields))
    _tokenizer(fields).save(str(folder / "tokenizer.json"), pretty=False)


def _open(file: Path) -> GGUFReader:
    try:
        return GGUFReader(file)
    except (ValueError, IndexError) as error:
        raise GgufError(f"{file.name} is not a readable GGUF file: {error}") from error


def _weights(reader: GGUFReader, fields: dict[str, Any]) -> dict[str, np.ndarray]:
    query_heads = fields["llama.attention.head_count"]
    heads = {"attn_q": query_heads, "attn_k": fields.get("llama.attention.head_count_kv", query_heads)}
    weights = {}
    for tensor in reader.tensors:
        name, part = _name(tensor.name)
        weight = dequantize(tensor.data, tensor.tensor_type)
        if part in heads:
            weight = _halves(weight, heads[part])
        weights[name] = np.ascontiguousarray(weight.astype(np.float16))
    return weights


def _name(tensor: str) -> tuple[str, str]:
    """The tensor's name in the safetensors file, and which part of a layer it is ("" outside the layers)."""
    if tensor in _OTHER_TENSORS:
        return _OTHER_TENSORS[tensor], ""
    block, _, rest = tensor.partition(".")
    layer, _, part = rest.removesuffix(".weight").partition(".")
    if block != "blk" or part not in _LAYER_PARTS:
        raise GgufError(f"unknown tensor {tensor!r}: the model has a part that this conversion doesn't know")
    return f"model.layers.{layer}.{_LAYER_PARTS[part]}.weight", part


def _halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a query or key projection from GGUF's order (rotary pairs interleaved) to halves, a head at a time."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _config(fields: dict[str, Any], tied: bool) -> dict[str, Any]:
    heads = fields["llama.attention.head_count"]
    theta = float(fields.get("llama.rope.freq_base", 10000.0))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float16",
        "hidden_act": "silu",
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": fields.get("llama.attention.head_count_kv", heads),
        "head_dim": fields["llama.embedding_length"] // heads,
        "max_position_embeddings": fields["llama.context_length"],
        # stored as float32: the shortest decimal that means it is the number that was meant
        "rms_norm_eps": float(str(np.float32(fields["llama.attention.layer_norm_rms_epsilon"]))),
        "rope_theta": theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "tie_word_embeddings": tied,
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "bos_token_id": fields.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": fields.get("tokenizer.ggml.eos_token_id"),
        "use_cache": True,
    }


def _generation_config(fields: dict[str, Any]) -> dict[str, Any]:
    """With `<|endoftext|>` as an end of the text, which ends documents in pre-training whatever a chat's end is."""
    ends = {fields.get("tokenizer.ggml.eos_token_id")} - {None}
    kinds = zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"], strict=True)
    ends |= {id_ for id_, (text, kind) in enumerate(kinds) if (text, kind) == ("<|endoftext|>", _CONTROL)}
    return {"bos_token_id": fields.get("tokenizer.ggml.bos_token_id"), "eos_token_id": sorted(ends)}


def _tokenizer_config(fields: dict[str, Any]) -> dict[str, Any]:
    tokens = fields["tokenizer.ggml.tokens"]
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    ids = {f"{name}_token": fields.get(f"tokenizer.ggml.{key}_token_id") for name, key in names.items()}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": fields["llama.context_length"],
        **{name: tokens[id_] for name, id_ in ids.items() if id_ is not None},
    }


def _tokenizer(fields: dict[str, Any]) -> tokenizers.Tokenizer:
    if fields.get("tokenizer.ggml.model") != "gpt2":
        raise GgufError(f"unknown vocabulary {fields.get('tokenizer.ggml.model')!r}: only byte-level BPE is converted")
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = _pre_tokenizer(fields.get("tokenizer.ggml.pre"))
    tokenizer.decoder = decoders.ByteLevel()
    for special in (True, False):
        kind = _CONTROL if special else _USER_DEFINED
        chosen = [text for text, of in zip(tokens, kinds, strict=True) if of == kind]
        added = [tokenizers.AddedToken(text, special=special, normalized=False) for text in chosen]
        tokenizer.add_tokens(added)
    if fields.get("tokenizer.ggml.add_bos_token"):
        bos = fields["tokenizer.ggml.bos_token_id"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{tokens[bos]} $A", special_tokens=[(tokens[bos], bos)]
        )
    return tokenizer


def _pre_tokenizer(name: str | None) -> Any:
    """How text is cut before merging. A GGUF only names it; the cut itself is part of the original tokenizer."""
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "gpt-2":
        return words
    if name in ("smollm", "starcoder"):
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])
    raise GgufError(f"unknown pre-tokenizer {name!r}: known are gpt-2, smollm and starcoder")


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
