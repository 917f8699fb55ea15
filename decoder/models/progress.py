"""What all ways to pull a model share: how they report, how they fail, and how much room they need."""

import shutil
from pathlib import Path
from typing import Protocol

_RESERVE_BYTES = 100_000_000


class PullError(Exception):
    """A model could not be pulled; the text is one sentence with the cause and the remedy."""


class PullProgress(Protocol):
    """Shows how far a pull is."""

    def stage(self, title: str, total: int | None) -> None:
        """A new stage begins, of `total` bytes if that is known."""
        ...

    def reached(self, done: int) -> None:
        """`done` bytes of the stage lie behind."""
        ...


def require_space(folder: Path, needed: int) -> None:
    """Raises PullError unless `needed` bytes and a small reserve are free where `folder` lies."""
    free = shutil.disk_usage(folder).free
    if free < needed + _RESERVE_BYTES:
        raise PullError(
            f"not enough disk space in {folder.parent}: {needed / 1e9:.1f} GB are needed and {free / 1e9:.1f} GB are "
            "free; make room or set XDG_CACHE_HOME to a larger disk, then pull again"
        )
