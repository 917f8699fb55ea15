"""Compressed weights: the file that they are kept in, and who makes it when."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from filelock import FileLock
from safetensors.numpy import load_file, save_file

from decoder.openvino_engine import compress
from decoder.openvino_engine.compress import Compression, compressed, weight_names
from decoder.openvino_engine.prepared import LOCK, PreparationError
from decoder.openvino_engine.shape import LlamaShape, UnsupportedModelError
from decoder.openvino_engine.weights import SafeTensors
from tests.engines import stored_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of a user's own."""
    folder = tmp_path / "model"
    folder.mkdir()
    for file in stored_model(1, attention_bias=True).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "prepared"


class Made:
    """Makes weights, and counts how often it had to."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.cache = folder, cache
        self.count = 0

    def __call__(self, kind: Compression = "int4") -> Path:
        return compressed(self.folder, kind, self.cache, self._reached)

    def _reached(self, done: int, whole: int) -> None:
        assert 0 < done <= whole
        self.count += done == whole


@pytest.fixture
def make(folder: Path, cache: Path) -> Made:
    return Made(folder, cache)


def test_every_tensor_has_the_form_that_it_should_have(make: Made) -> None:
    original = load_file(make.folder / "model.safetensors")
    int8, int4 = (SafeTensors(make(kind)) for kind in ("int8", "int4"))
    named = list(weight_names(LlamaShape.read(make.folder)))
    assert set(original) == set(named)
    for name, values in original.items():
        in_4_bits = ".layers." in name and values.shape[-1] == 32  # 48 columns are no whole groups
        if values.ndim == 1:  # norms and biases, that of the attention's output included
            for file in (int8, int4):
                assert file.tensor(name).values.dtype == np.float32
                assert np.array_equal(file.tensor(name).values, values)
        else:
            assert int8.tensor(name).values.dtype == np.int8
            assert int4.tensor(name).values.dtype == (np.uint8 if in_4_bits else np.int8)
            assert (f"{name}.zero" in int4) == in_4_bits


def test_a_tied_head_is_stored_once(tmp_path: Path) -> None:
    path = compressed(stored_model(1, tie_word_embeddings=True), "int8", tmp_path)
    assert "lm_head.weight" not in SafeTensors(path)


def test_weights_are_made_once_for_each_kind(make: Made) -> None:
    int8, int4 = make("int8"), make("int4")
    assert int8 != int4
    assert make.count == 2
    before = int8.stat()
    assert make("int8") == int8
    assert (int8.stat().st_ino, int8.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert make.count == 2


def test_weights_are_made_again_when_the_model_changes(make: Made) -> None:
    before = SafeTensors(make()).tensor("model.norm.weight").values
    weights = load_file(make.folder / "model.safetensors")
    weights["model.norm.weight"] += 1
    save_file(weights, make.folder / "model.safetensors")
    assert np.array_equal(SafeTensors(make()).tensor("model.norm.weight").values, before + 1)
    os.utime(make.folder / "config.json", ns=(1, 1))
    make()
    assert make.count == 3


@pytest.mark.parametrize("part", [0.0, 0.1, 0.7, 0.99])
def test_a_file_that_was_cut_short_is_made_again(make: Made, part: float) -> None:
    path = make()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    assert make() == path
    assert make.count == 2
    assert path.read_bytes() == whole


def test_a_file_of_another_kind_in_its_place_is_replaced(make: Made) -> None:
    path = make()
    save_file({"a": np.zeros(3)}, path)
    make()
    assert make.count == 2


def test_nothing_is_left_where_it_fails(make: Made) -> None:
    weights = load_file(make.folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, make.folder / "model.safetensors")
    with pytest.raises(UnsupportedModelError, match=r"layers\.1\.mlp\.up_proj\.weight is missing"):
        make()
    assert {file.suffix for file in make.cache.iterdir()} <= {".lock"}


def test_the_file_has_its_name_only_when_the_disk_has_its_content(make: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    # after a power cut a whole header before holes passed for weights
    seen = []
    monkeypatch.setattr(os, "fsync", lambda _number: seen.append({file.suffix for file in make.cache.iterdir()}))
    assert make().is_file()
    assert seen == [{".unfinished", ".lock"}]


def test_what_a_killed_process_left_is_overwritten(make: Made) -> None:
    path = make()
    path.unlink()
    path.with_suffix(".unfinished").write_bytes(b"half")
    make()
    assert {file.suffix for file in make.cache.iterdir()} == {".int4", ".lock", ".folder"}


def test_what_a_killed_process_left_in_a_pulled_model_goes_though_nothing_has_to_be_made(make: Made) -> None:
    # after a change to a precision that was ready it stayed for ever
    (make.folder / "draftline.json").write_text("{}", encoding="utf-8")
    make("int4")
    unfinished = make.folder / "weights.unfinished"  # of int8
    unfinished.write_bytes(b"half")
    with FileLock(make.folder / LOCK):
        make("int4")
        assert unfinished.exists(), "its process may be alive"
    make("int4")
    assert not unfinished.exists()
    assert make.count == 1


def test_a_model_of_the_users_own_is_left_as_it_is(make: Made) -> None:
    before = sorted(make.folder.iterdir())
    assert make().parent == make.cache
    assert sorted(make.folder.iterdir()) == before


def test_models_of_the_users_own_do_not_share_a_file(make: Made, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "model"
    other.mkdir(parents=True)
    for file in make.folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    assert compressed(other, "int4", make.cache) != make()


def test_a_pulled_model_holds_its_own(make: Made) -> None:
    (make.folder / "draftline.json").write_text("{}", encoding="utf-8")
    assert make("int8") == make.folder / "weights.int8"
    assert make("int4") == make.folder / "weights.int4"
    assert not make.cache.exists()


def block_writing(folder: Path) -> None:
    """Nothing can be locked here, nor written; even root is stopped."""
    (folder / "weights.lock").unlink(missing_ok=True)
    (folder / "weights.lock").mkdir()


def test_a_pulled_model_that_cannot_be_written_to_uses_the_cache(make: Made) -> None:
    (make.folder / "draftline.json").write_text("{}", encoding="utf-8")
    block_writing(make.folder)
    path = make()
    assert path.parent == make.cache
    assert make() == path
    assert make.count == 1


def test_weights_prepared_in_a_folder_that_cannot_be_written_to_are_used(make: Made) -> None:
    (make.folder / "draftline.json").write_text("{}", encoding="utf-8")
    path = make()
    block_writing(make.folder)
    assert make() == path
    assert make.count == 1


def test_where_nothing_can_be_written_the_folder_is_named_and_the_remedy(make: Made) -> None:
    make.cache.parent.write_text("a file", encoding="utf-8")
    said = rf"in int4 cannot be kept in {make.cache} \(Not a directory\): make room there, or set XDG_CACHE_HOME"
    with pytest.raises(PreparationError, match=said):
        make()


def test_a_full_disk_is_told_and_nothing_is_left_on_it(make: Made) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(PreparationError, match=rf"cannot be kept in {make.cache} \(.*too large"):
            make()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {file.suffix for file in make.cache.iterdir()} <= {".lock"}


def test_the_file_is_what_the_library_writes_of_the_whole_model_at_once(
    make: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    # all compressed weights were held until the last one was done
    original = load_file(make.folder / "model.safetensors")
    for kind in get_args(Compression):
        whole = {
            name + part: values
            for name, matrix in original.items()
            for part, values in compress._parts(name, matrix, kind).items()
        }
        for size in (1 << 20, 100):  # rows have 32, 48 or 64 values
            monkeypatch.setattr(compress, "_PIECE", size)
            path = make(kind)
            save_file(whole, make.cache / "expected", metadata=SafeTensors(path).metadata)
            assert path.read_bytes() == (make.cache / "expected").read_bytes()
            path.unlink()


_MAKE = """
import sys
from pathlib import Path
from decoder.openvino_engine import compress, prepared

prepared.PATIENCE_SECONDS = 0.0
folder, cache = map(Path, sys.argv[1:])
print(compress.compressed(
    folder, "int4", cache,
    lambda done, whole: print("made") if done == whole else None,
    lambda text: print(text, flush=True),
))
"""


def test_of_two_processes_one_makes_the_weights_and_both_use_them(make: Made) -> None:
    # nothing was said, however long the other one took
    path = make()
    path.unlink()
    command = [sys.executable, "-c", _MAKE, str(make.folder), str(make.cache)]
    with FileLock(make.cache / LOCK):  # until both have found nothing
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for process in started:
            assert process.stdout is not None
            waiting = f"another process prepares weights in {make.cache}: waiting until it is done\n"
            assert process.stdout.readline() == waiting
    printed = sorted(process.communicate(timeout=60)[0] for process in started)
    assert printed == [f"{path}\n", f"made\n{path}\n"]


def test_a_preparation_removes_what_was_prepared_for_folders_that_are_gone(make: Made, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    shutil.copytree(make.folder, gone)
    orphans = {compressed(gone, kind, make.cache) for kind in get_args(Compression)}
    kept = make("int8")
    shutil.rmtree(gone)
    assert {*orphans, kept} <= set(make.cache.iterdir())
    made = make("int4")
    assert {file.name for file in make.cache.iterdir()} == {kept.name, made.name, f"{made.stem}.folder", LOCK}
