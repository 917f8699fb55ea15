"""Tensors read from safetensors files, and what is wrong with a file in one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from decoder.openvino_engine.shape import UnsupportedModelError
from decoder.openvino_engine.weights import INDEX, ModelWeights, SafeTensors, Stored

VALUES = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_file({"a": VALUES, "b": VALUES.astype(np.float16), "c": VALUES[0]}, path, metadata={"made": "here"})
    return path


def test_tensors_are_read_as_they_were_written(path: Path) -> None:
    file = SafeTensors(path)
    assert file.names == {"a", "b", "c"}
    assert file.metadata == {"made": "here"}
    assert "a" in file
    assert "d" not in file
    assert np.array_equal(file.tensor("a").values, VALUES)
    assert file.tensor("b").values.dtype == np.float16
    assert np.array_equal(file.tensor("b").as_float32(), VALUES.astype(np.float16).astype(np.float32))
    assert file.tensor("c").values.shape == (5,)


def test_bfloat16_is_exact_in_single_precision(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file as save_tensors

    tensor = torch.tensor(VALUES).bfloat16()
    save_tensors({"a": tensor}, tmp_path / "model.safetensors")
    stored = SafeTensors(tmp_path / "model.safetensors").tensor("a")
    assert stored.is_bfloat16
    assert np.array_equal(stored.as_float32(), tensor.float().numpy())


@pytest.mark.parametrize("special", [0x0000, 0x8000, 0x7F80, 0xFF80, 0x0001, 0x3F80])
def test_special_numbers_of_bfloat16(special: int) -> None:
    bits = Stored(np.array([special], dtype=np.uint16), is_bfloat16=True).as_float32().view(np.uint32)
    assert bits[0] == special << 16


def test_nothing_is_copied_before_it_is_used(path: Path) -> None:
    file = SafeTensors(path)
    assert np.shares_memory(file.tensor("a").values, file.tensor("a").values)


def test_memory_given_back_is_read_again_when_it_is_needed(path: Path) -> None:
    weights = ModelWeights(path.parent)
    before = weights.tensor("a")
    weights.release()
    assert np.array_equal(before.values, VALUES)
    assert np.array_equal(weights.tensor("a").values, VALUES)


def test_a_view_outlives_the_file_that_it_came_from(path: Path) -> None:
    values = SafeTensors(path).tensor("a").values
    path.unlink()
    assert np.array_equal(values, VALUES)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.2, 0.5, 0.9, 0.999])
def test_a_file_cut_short_anywhere_is_named(path: Path, part: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(UnsupportedModelError, match=r"^model\.safetensors (is cut short|cannot be read)"):
        SafeTensors(path)


@pytest.mark.parametrize("noise", [b"\xff" * 100, b"", b"{}" * 50], ids=["noise", "empty", "text"])
def test_a_file_of_another_kind_is_named(path: Path, noise: bytes) -> None:
    path.write_bytes(noise)
    with pytest.raises(UnsupportedModelError, match=r"model\.safetensors cannot be read"):
        ModelWeights(path.parent)


def test_what_is_missing_is_named(path: Path) -> None:
    for weights in (SafeTensors(path), ModelWeights(path.parent)):
        with pytest.raises(UnsupportedModelError, match=r"the weight lm_head\.weight is missing"):
            weights.tensor("lm_head.weight")


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    save_file({"a": VALUES.astype(np.float64)}, tmp_path / "model.safetensors")
    with pytest.raises(UnsupportedModelError, match="a is stored as F64, known are F32, F16"):
        ModelWeights(tmp_path).tensor("a")


def shard(folder: Path, *parts: dict[str, NDArray[Any]]) -> None:
    """Writes one file for each part, and the index of them."""
    names = [f"model-{number:05}-of-{len(parts):05}.safetensors" for number in range(1, len(parts) + 1)]
    for name, part in zip(names, parts, strict=True):
        save_file(part, folder / name)
    weight_map = {key: name for name, part in zip(names, parts, strict=True) for key in part}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}), encoding="utf-8")


def test_several_files_are_one_model(tmp_path: Path) -> None:
    shard(tmp_path, {"a": VALUES, "b": VALUES + 1}, {"c": VALUES + 2})
    weights = ModelWeights(tmp_path)
    for name, expected in (("a", VALUES), ("b", VALUES + 1), ("c", VALUES + 2)):
        assert name in weights
        assert np.array_equal(weights.tensor(name).values, expected)
    assert "d" not in weights


def test_a_missing_file_of_several_is_named(tmp_path: Path) -> None:
    shard(tmp_path, {"a": VALUES}, {"c": VALUES})
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(UnsupportedModelError, match=r"model-00002-of-00002\.safetensors cannot be read"):
        ModelWeights(tmp_path)


@pytest.mark.parametrize("index", ["{", "{}"])
def test_a_damaged_index_is_named(tmp_path: Path, index: str) -> None:
    (tmp_path / INDEX).write_text(index, encoding="utf-8")
    with pytest.raises(UnsupportedModelError, match=rf"{INDEX} cannot be read"):
        ModelWeights(tmp_path)


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match=rf"there is no model\.safetensors in {tmp_path}"):
        ModelWeights(tmp_path)
