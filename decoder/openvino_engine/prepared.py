"""Where prepared weights lie, who may make them, and which of them go because their model has gone."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

Waiting = Callable[[str], None]
"""Is told, for people, that another process is waited for."""

UNFINISHED = ".unfinished"
LOCK = "weights.lock"
"""One for a folder, whatever is prepared in it: two preparations at once would only slow each other down."""
PATIENCE_SECONDS = 1.0
LIMIT_SECONDS = 3600.0
_SOURCE = ".folder"
"""Beside weights in the cache: of the model that they were made of, the number of its disk and its path."""
_OURS = re.compile(r"[0-9a-f]{16}")


class PreparationError(Exception):
    """Weights cannot be prepared now; the text names what is in the way, and the remedy."""


def places(folder: Path, kind: str, cache: Path) -> list[Path]:
    """Where the weights of a model folder may lie, the best first.

    A pulled model holds its own, which go when it goes; those of a person's own folder lie in `cache`.
    """
    cached = cache / f"{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.{kind}"
    return [folder / f"weights.{kind}", cached] if _is_pulled(folder) else [cached]


@contextmanager
def alone(folder: Path, waiting: Waiting) -> Iterator[None]:
    """Nobody else prepares weights in `folder` meanwhile.

    Raises PreparationError where another process goes on for an hour, OSError where nothing can be locked.
    """
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=PATIENCE_SECONDS)
    except Timeout:
        waiting(f"another process prepares weights in {folder}: waiting until it is done")
        _wait(lock, folder)
    try:
        yield
    finally:
        lock.release()


def note_source(path: Path, folder: Path) -> None:
    """Writes down which model the weights in `path` were made of."""
    whole = folder.resolve()
    path.with_suffix(_SOURCE).write_text(f"{_disk(whole)}\n{whole}", encoding="utf-8")


def remove_unfinished(folder: Path) -> None:
    """Deletes what a killed process has left of its preparation in a pulled model, unless another one is at it."""
    unfinished = folder / f"weights{UNFINISHED}"
    if unfinished.is_file() and _is_pulled(folder):
        with suppress(OSError), FileLock(folder / LOCK, timeout=0):
            unfinished.unlink(missing_ok=True)


def remove_orphans(cache: Path) -> None:
    """Deletes what was prepared for folders that hold no model any more, and what dead processes have left.

    Nothing happens while another process prepares weights there, or where nothing can be deleted.
    """
    if not cache.is_dir():
        return
    with suppress(OSError), FileLock(cache / LOCK, timeout=0):
        for file in [file for file in cache.iterdir() if _OURS.fullmatch(file.stem)]:
            if file.suffix in (UNFINISHED, ".lock") or not _has_model(file.with_suffix(_SOURCE)):
                file.unlink(missing_ok=True)


def _is_pulled(folder: Path) -> bool:
    return (folder / "draftline.json").is_file()


def _wait(lock: FileLock, folder: Path) -> None:
    try:
        lock.acquire(timeout=LIMIT_SECONDS)
    except Timeout as error:
        raise PreparationError(
            f"another process has been preparing weights in {folder} for {LIMIT_SECONDS / 60:.0f} minutes: end it, and"
            " start again"
        ) from error


def _has_model(source: Path) -> bool:
    """A model counts as there while another disk than its own is found in its place: its own is not mounted now.

    Weights whose source nobody has written down count as orphans: they are made again when they are wanted.
    """
    try:
        disk, _, folder = source.read_text(encoding="utf-8").partition("\n")
        return (Path(folder) / "config.json").is_file() or _disk(Path(folder)) != int(disk)
    except (OSError, ValueError):
        return False


def _disk(folder: Path) -> int:
    """Of the folder, or of what is left of the way to it."""
    return next(each for each in (folder, *folder.parents) if each.exists()).stat().st_dev
