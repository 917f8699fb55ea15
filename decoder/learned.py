"""What drafting has learned about each target model, kept from one run of the decoder to the next."""

import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from drafting.survival import State, Survival

VERSION = 1
MOST_MODELS = 8
_UNUSABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
_log = logging.getLogger(__name__)


def learned_path() -> Path:
    """The file in the state directory."""
    return platformdirs.user_state_path("draftline", appauthor=False) / "gamma.json"


class Learned:
    """A JSON file: the version, and for each target model the state of its `Survival`, those kept last at the end.

    A file that cannot be used is set aside as `.broken` with a warning; learning begins anew. It is read once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._models: dict[str, list[State]] = self._read()

    def survival(self, model: str) -> Survival:
        """What was learned with a target."""
        return Survival.restored(self._models.get(model, []))

    def models(self) -> list[str]:
        """Targets of which something is known."""
        return sorted(self._models)

    def save(self, model: str, state: list[State]) -> None:
        """Replaces what is kept of a target, in one piece. A disk that refuses costs what was learned, no answer."""
        self._models.pop(model, None)
        self._models[model] = state
        while len(self._models) > MOST_MODELS:
            del self._models[next(iter(self._models))]
        unfinished = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished.write_text(json.dumps({"version": VERSION, "models": self._models}), encoding="utf-8")
            unfinished.replace(self._path)
        except OSError as error:
            _log.warning("what drafting has learned cannot be kept in %s: %s", self._path, error)
            with suppress(OSError):
                unfinished.unlink()

    def _read(self) -> dict[str, Any]:
        """The states by model, each of them sound."""
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            if content["version"] != VERSION:
                raise ValueError(f"version {content['version']}, expected {VERSION}")
            models = dict(content["models"])
            for state in models.values():
                Survival.restored(state)
        except FileNotFoundError:
            return {}
        except _UNUSABLE as error:
            broken = self._path.with_suffix(".broken")
            _log.warning(
                "%s cannot be used (%s): set aside as %s, learning begins anew", self._path, error, broken.name
            )
            with suppress(OSError):
                self._path.replace(broken)
            return {}
        return models
