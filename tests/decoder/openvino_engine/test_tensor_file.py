"""A file written rows by rows is the one that the library writes at once."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from decoder.openvino_engine.tensor_file import Form, TensorFile

RANDOM = np.random.default_rng(0)
TENSORS: dict[str, NDArray[Any]] = {
    "a.matrix": RANDOM.integers(-9, 9, (7, 5)).astype(np.int8),
    "a.matrix.scale": RANDOM.normal(size=(7, 1)).astype(np.float16),
    "b.packed": RANDOM.integers(0, 256, 21).astype(np.uint8),
    "b.packed.zero": RANDOM.normal(size=(7, 3)).astype(np.float16),
    "norm": RANDOM.normal(size=5).astype(np.float32),
    "a norm": RANDOM.normal(size=3).astype(np.float32),
}


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("names", [list(TENSORS), ["norm"], ["b.packed", "a.matrix"]])
def test_in_any_order_it_is_the_librarys_file_byte_for_byte(tmp_path: Path, names: list[str], size: int) -> None:
    tensors = {name: TENSORS[name] for name in names}
    save_file(tensors, tmp_path / "expected", metadata={"source": "é"})
    pieces = [(name, first) for name in names for first in range(0, len(tensors[name]), size)]
    random.Random(size).shuffle(pieces)
    with (tmp_path / "found").open("wb") as file:
        forms = {name: Form(values.dtype, values.shape) for name, values in tensors.items()}
        written = TensorFile(file, forms, {"source": "é"})
        for name, first in pieces:
            written.write(name, first, tensors[name][first : first + size])
    assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()


def test_views_that_skip_through_memory_are_written_in_their_order(tmp_path: Path) -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    for values in (matrix.T, matrix[:, ::2]):
        with (tmp_path / "found").open("wb") as file:
            TensorFile(file, {"x": Form(values.dtype, values.shape)}, {"source": ""}).write("x", 0, values)
        save_file({"x": np.ascontiguousarray(values)}, tmp_path / "expected", metadata={"source": ""})
        assert (tmp_path / "found").read_bytes() == (tmp_path / "expected").read_bytes()
