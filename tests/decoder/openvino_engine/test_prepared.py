"""Who may prepare weights, and which of them go."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

from decoder.openvino_engine import prepared
from decoder.openvino_engine.prepared import (
    LOCK,
    PreparationError,
    alone,
    note_source,
    places,
    remove_orphans,
    remove_unfinished,
)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """With weights of two models, one of which is gone, and of one that nobody knows."""
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("here", "gone"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}", encoding="utf-8")
        for kind in ("int8", "int4"):
            weights = places(folder, kind, cache)[0]
            weights.touch()
            note_source(weights, folder)
    (tmp_path / "gone" / "config.json").unlink()
    for name in ("0123456789abcdef.int8", "0123456789abcdef.lock", "exactness.json", "notes.txt", "weights.int8"):
        (cache / name).touch()
    return cache


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_weights_stay_as_long_as_their_model_and_other_files_for_ever(cache: Path) -> None:
    # those of a deleted folder stayed until somebody looked
    here = places(cache.parent / "here", "int8", cache)[0].stem
    unfinished = cache / f"{here}.unfinished"  # of a process that was killed
    unfinished.touch()
    remove_orphans(cache)
    kept = {f"{here}.int8", f"{here}.int4", f"{here}.folder"}
    assert names(cache) == {*kept, "exactness.json", "notes.txt", "weights.int8", LOCK}


def test_weights_of_a_model_whose_disk_is_not_mounted_stay(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # what took minutes to make was deleted whenever another model was prepared while the disk was away
    away = places(cache.parent / "gone", "int8", cache)[0]
    monkeypatch.setattr(prepared, "_disk", lambda _folder: -1)
    note_source(away, cache.parent / "gone")
    monkeypatch.undo()
    remove_orphans(cache)
    assert away in cache.iterdir()


def test_nothing_is_removed_while_another_process_prepares(cache: Path) -> None:
    before = names(cache)
    with held(cache):
        remove_orphans(cache)
    assert names(cache) == {*before, LOCK}


def test_where_nothing_was_ever_prepared_nothing_is_made(tmp_path: Path) -> None:
    remove_orphans(tmp_path / "absent")
    assert names(tmp_path) == set()


def test_in_a_folder_of_the_users_own_nothing_is_removed(tmp_path: Path) -> None:
    (tmp_path / "weights.unfinished").touch()
    remove_unfinished(tmp_path)
    assert names(tmp_path) == {"weights.unfinished"}


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The lock is held by somebody else, here another thread."""
    has_begun, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with FileLock(folder / LOCK):
            has_begun.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has_begun.wait()
    try:
        yield
    finally:
        may_end.set()
        thread.join()


def test_whoever_waits_for_long_is_told_once_and_an_end_is_put_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # it waited for ever, in silence
    monkeypatch.setattr(prepared, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(prepared, "LIMIT_SECONDS", 0.0)
    said: list[str] = []
    with (
        held(tmp_path),
        pytest.raises(PreparationError, match=rf"preparing weights in {tmp_path} for 0 minutes: end it, and start"),
        alone(tmp_path, said.append),
    ):
        pass
    assert said == [f"another process prepares weights in {tmp_path}: waiting until it is done"]


def test_whoever_waits_shortly_is_told_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with alone(tmp_path, said.append):
            assert names(tmp_path) == {LOCK}
    assert said == []


def test_a_failure_inside_lets_the_next_one_in(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), alone(tmp_path, print):
        raise ZeroDivisionError
    with alone(tmp_path, print):
        pass
