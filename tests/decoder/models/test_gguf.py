from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import load_file

from decoder.models.gguf import GgufError, convert_gguf
from decoder.tokenizer import Tokenizer
from tests.decoder.models.tiny_gguf import HIDDEN, vocabulary, write_tiny_gguf


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    write_tiny_gguf(tmp_path / "tiny.gguf")
    convert_gguf(tmp_path / "tiny.gguf", tmp_path)
    return tmp_path


def test_transformers_loads_the_folder_with_every_weight_in_place(converted: Path) -> None:
    model, report = transformers.AutoModelForCausalLM.from_pretrained(converted, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert model.dtype == torch.float16
    assert model.config.max_position_embeddings == 128
    assert model.config.rms_norm_eps == 1e-5
    assert model.config.tie_word_embeddings
    assert model.get_input_embeddings().weight.shape == (len(vocabulary()), HIDDEN)


def test_rotary_pairs_move_from_interleaved_to_halves(converted: Path) -> None:
    weights = load_file(converted / "model.safetensors")
    tensor = next(t for t in GGUFReader(converted / "tiny.gguf").tensors if t.name == "blk.0.attn_q.weight")
    interleaved = dequantize(tensor.data, tensor.tensor_type).astype(np.float16)
    first_head = weights["model.layers.0.self_attn.q_proj.weight"][:16]
    assert np.array_equal(first_head, np.concatenate([interleaved[0:16:2], interleaved[1:16:2]]))


def test_digits_stand_alone_though_the_vocabulary_could_merge_them(converted: Path) -> None:
    """A conversion that forgets the pre-tokenizer `smollm` agrees on most texts, and not on those with numbers."""
    tokenizer = Tokenizer.load(converted)
    assert [tokenizer.decode([token]) for token in tokenizer.encode("def 12")] == ["def", " ", "1", "2"]


def test_without_that_pre_tokenizer_digits_merge(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf", pre="gpt-2")
    convert_gguf(tmp_path / "tiny.gguf", tmp_path)
    tokenizer = Tokenizer.load(tmp_path)
    assert [tokenizer.decode([token]) for token in tokenizer.encode("x12")] == ["x", "12"]


def test_end_of_text_ends_a_text_beside_the_end_of_a_turn(converted: Path) -> None:
    assert Tokenizer.load(converted).eos_ids == {0, 2}


def test_a_bos_that_the_file_asks_for_becomes_the_prompts_prefix(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf", add_bos=True)
    convert_gguf(tmp_path / "tiny.gguf", tmp_path)
    assert Tokenizer.load(tmp_path).prompt_prefix == (1,)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"architecture": "gemma"}, "gemma"),
        ({"pre": "tekken"}, "tekken"),
        ({"extra_tensor": "rope_freqs.weight"}, "rope_freqs"),
    ],
)
def test_what_it_doesnt_know_is_an_error_and_not_a_guess(tmp_path: Path, options: dict[str, str], names: str) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf", **options)  # type: ignore[arg-type]
    with pytest.raises(GgufError, match=names):
        convert_gguf(tmp_path / "tiny.gguf", tmp_path)


def test_a_file_that_is_no_gguf_is_named(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_bytes(b"<html>not found</html>" * 10)
    with pytest.raises(GgufError, match="page"):
        convert_gguf(tmp_path / "page.gguf", tmp_path)
