"""What was found out about a model on this machine, by what that depends on, so that no start asks twice."""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from decoder.cost import PassCost, measure_cost
from decoder.exactness import Exactness, probe_exactness
from drafting.interface import LanguageModel


@dataclass(frozen=True, slots=True)
class Probed:
    """How exact the model is, and what its passes cost when it keeps to that."""

    exactness: Exactness
    cost: PassCost

    @staticmethod
    def of(model: LanguageModel) -> "Probed":
        """Takes some seconds; the model is set to the sizes of passes that were found, its cache is empty."""
        return Probed(probe_exactness(model), measure_cost(model))


class Remembered:
    """A JSON file of results; one that is damaged or cannot be written is the same as none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, circumstances: Sequence[str]) -> Probed | None:
        """What was found in just these circumstances."""
        try:
            found = self._read()[_key(circumstances)]
            cost = PassCost(**{name: tuple(values) for name, values in found["cost"].items()})
            exactness = Exactness(**found["exactness"])
            makes_sense = 1 <= exactness.min_rows <= exactness.max_rows and len(cost.rows) == len(cost.milliseconds) > 1
        except (KeyError, TypeError, AttributeError):
            return None
        return Probed(exactness, cost) if makes_sense else None

    def add(self, circumstances: Sequence[str], found: Probed) -> None:
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
