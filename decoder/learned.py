"""What drafting has learned about each target model, kept from one run of the decoder to the next."""

import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from drafting.survival import Survival

VERSION = 1
_log = logging.getLogger(__name__)


def learned_path() -> Path:
    """The file in the state directory."""
    return platformdirs.user_state_path("draftline", appauthor=False) / "gamma.json"


class Learned:
    """A JSON file: the version, and for each target model the state of its `Survival`.

    A file that cannot be used is set aside as `.broken` with a warning; learning begins anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def survival(self, model: str) -> Survival:
        """What was learned with a target."""
        return Survival.restored(self._read().get(model, {}))

    def models(self) -> list[str]:
        """Targets of which something is known."""
        return sorted(self._read())

    def save(self, model: str, survival: Survival) -> None:
        """Replaces what is kept of a target, in one piece. A disk that refuses costs what was learned, no answer."""
        text = json.dumps({"version": VERSION, "models": self._read() | {model: survival.state()}})
        unfinished = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished.write_text(text, encoding="utf-8")
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
            for state in content["models"].values():
                Survival.restored(state)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            broken = self._path.with_suffix(".broken")
            _log.warning(
                "%s cannot be used (%s): set aside as %s, learning begins anew", self._path, error, broken.name
            )
            with suppress(OSError):
                self._path.replace(broken)
            return {}
        models: dict[str, Any] = content["models"]
        return models
