"""Results of `probe_exactness` by what they depend on, so that a decoder starts without repeating the probe."""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from decoder.exactness import Exactness


class Remembered:
    """A JSON file of results; one that is damaged or cannot be written is the same as none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, circumstances: Sequence[str]) -> Exactness | None:
        """What was found in just these circumstances."""
        try:
            return Exactness(**self._read()[_key(circumstances)])
        except (KeyError, TypeError):
            return None

    def add(self, circumstances: Sequence[str], found: Exactness) -> None:
        """Of two processes that add at once one may be lost; it will probe again."""
        results = self._read() | {_key(circumstances): asdict(found)}
        unfinished = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(json.dumps(results, indent=1), encoding="utf-8")
            unfinished.replace(self._path)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def _key(circumstances: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(circumstances)).encode()).hexdigest()[:32]
