"""A model folder as a GGUF file, read back by the conversion that goes the other way."""

import json
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from safetensors.numpy import load_file, save_file

from decoder.bench.peers.gguf_file import SOURCE, gguf_file
from decoder.bench.peers.names import Precision
from decoder.bench.peers.peer import PeerError
from decoder.models.gguf import convert_gguf
from tests.decoder.models.tiny_gguf import write_tiny_gguf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model as the store keeps it: converted from a file that it came in."""
    model = tmp_path / "tiny"
    model.mkdir()
    write_tiny_gguf(model / SOURCE)
    convert_gguf(model / SOURCE, model)
    return model


def read_back(file: Path, folder: Path) -> dict[str, np.ndarray]:
    folder.mkdir()
    convert_gguf(file, folder)
    return load_file(folder / "model.safetensors")


def save_bfloat16(bits: dict[str, np.ndarray], file: Path) -> None:
    """numpy has no such type: 16 bits each, under the other name."""
    save_file(bits, file)
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = data[8:end].replace(b'"U16"', b'"BF16"')
    file.write_bytes(len(header).to_bytes(8, "little") + header + data[end:])


def test_there_and_back_every_weight_is_in_its_place_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    weights = read_back(gguf_file(folder, "fp16", tmp_path / "cache"), tmp_path / "back")
    before = load_file(folder / "model.safetensors")
    assert weights.keys() == before.keys()
    assert all(np.array_equal(weights[name], before[name]) for name in before)
    for file in ("config.json", "generation_config.json"):
        assert json.loads((tmp_path / "back" / file).read_text()) == json.loads((folder / file).read_text())


@pytest.mark.parametrize("precision", ["q8_0", "int8"])
def test_eight_bits_are_close(folder: Path, tmp_path: Path, precision: Precision) -> None:
    weights = read_back(gguf_file(folder, precision, tmp_path / "cache"), tmp_path / "back")
    for name, before in load_file(folder / "model.safetensors").items():
        assert np.allclose(weights[name], before, atol=np.abs(before).max() / 127), name


def test_a_file_that_has_the_precision_is_used_as_it_is(folder: Path, tmp_path: Path) -> None:
    assert gguf_file(folder, "q4_1", tmp_path / "cache") == folder / SOURCE


def test_a_file_is_made_once_and_anew_when_the_weights_change(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    made = gguf_file(folder, "fp16", cache)
    written = made.stat().st_mtime_ns
    assert gguf_file(folder, "fp16", cache) == made
    assert made.stat().st_mtime_ns == written
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"model.norm.weight": np.ones(64, np.float16)}, folder / "model.safetensors")
    assert gguf_file(folder, "fp16", cache) != made
    assert not list(cache.glob("*.unfinished"))


def test_weights_in_bfloat16_are_read_without_torch(folder: Path, tmp_path: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    upper = {name: weight.astype(np.float32).view(np.uint32) >> 16 for name, weight in weights.items()}
    save_bfloat16({name: bits.astype(np.uint16) for name, bits in upper.items()}, folder / "model.safetensors")
    made = read_back(gguf_file(folder, "fp16", tmp_path / "cache"), tmp_path / "back")
    assert all(np.array_equal(made[name], (upper[name] << 16).view(np.float32).astype(np.float16)) for name in upper)


def test_rows_beyond_the_vocabulary_are_padding(folder: Path, tmp_path: Path) -> None:
    weights, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    embedding = weights["model.embed_tokens.weight"]
    weights["model.embed_tokens.weight"] = np.concatenate([embedding, embedding[:1]])
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": len(embedding) + 1}))
    fields = GGUFReader(gguf_file(folder, "fp16", tmp_path / "cache")).fields
    assert fields["tokenizer.ggml.tokens"].contents(-1) == f"[PAD{len(embedding)}]"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model_type": "qwen2"}, "no GGUF file is made of a 'qwen2' model"),
        ({"rope_parameters": {"rope_type": "llama3"}}, "with 'llama3' rotary scaling"),
    ],
)
def test_a_model_that_would_be_another_in_gguf_is_refused(
    folder: Path, tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(PeerError, match=reason):
        gguf_file(folder, "fp16", tmp_path / "cache")


def test_an_unknown_weight_is_refused(folder: Path, tmp_path: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"model.layers.0.extra": np.ones(2, np.float16)}, folder / "model.safetensors")
    with pytest.raises(PeerError, match=r"unknown weight 'model\.layers\.0\.extra'"):
        gguf_file(folder, "fp16", tmp_path / "cache")
