"""What was found out about a model on this machine, by what that depends on, so that no start asks twice."""

import hashlib
import json
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from decoder import installed
from decoder.config import DecoderConfig
from decoder.cores import available_cores, cpu_features, cpu_name
from decoder.cost import PassCost, measure_cost
from decoder.exactness import PROBE, Exactness, probe_exactness
from drafting.interface import LanguageModel

GPU_DRIVER = Path("/proc/driver/nvidia/version")


def circumstances(place: str, config: DecoderConfig, folder: Path) -> list[str]:
    """What decides which kernels run the model in `folder`, and in which order they add."""
    return [
        place,
        str(config.threads or available_cores()),
        str(config.context_tokens),
        (folder / "config.json").read_text(encoding="utf-8", errors="replace"),
        cpu_name(),
        cpu_features(),
        GPU_DRIVER.read_text(encoding="utf-8") if GPU_DRIVER.is_file() else "",
        f"probe {PROBE}",
        *(f"{name} {installed(name)}" for name in ("openvino", "torch", "transformers")),
    ]


@dataclass(frozen=True, slots=True)
class Probed:
    """How exact the model is, and what its passes cost when it keeps to that."""

    exactness: Exactness
    cost: PassCost

    @staticmethod
    def of(model: LanguageModel) -> "Probed":
        """Takes some seconds; the model is set to the sizes of passes that were found, its cache is empty."""
        return Probed(probe_exactness(model), measure_cost(model))


@dataclass(frozen=True, slots=True)
class LastLoad:
    """What it took to make a model ready. resident_bytes: held by the process then, 0 where the system does not say."""

    seconds: float
    resident_bytes: int

    def __str__(self) -> str:
        """For people.

        >>> str(LastLoad(2.34, 430 << 20))
        'loaded in 2.3 s, 430 MiB resident'
        """
        resident = f", {self.resident_bytes / 2**20:,.0f} MiB resident" if self.resident_bytes else ""
        return f"loaded in {self.seconds:.1f} s{resident}"


class Remembered:
    """A JSON file of results; one that is damaged or cannot be written is the same as none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, circumstances: Sequence[str]) -> Probed | None:
        """What was found in just these circumstances."""
        try:
            found = self._read()[_key(circumstances)]
            table = found["cost"]
            cost = PassCost(tuple(table["rows"]), tuple(table["milliseconds"]), one_row=table["one_row"])
            exactness = Exactness(**found["exactness"])
            return Probed(exactness, cost) if _is_exactness(exactness) else None
        except (KeyError, TypeError, AttributeError, ValueError):
            return None

    def add(self, circumstances: Sequence[str], found: Probed) -> None:
        """Of two processes that add at once one may be lost; it will probe again."""
        self._write(self._read() | {_key(circumstances): asdict(found)})

    def last_load(self, circumstances: Sequence[str]) -> LastLoad | None:
        """What the last load in these circumstances took, if `note_load` was told."""
        try:
            load = LastLoad(**self._read()[_key(circumstances)]["load"])
            seconds, held = float(load.seconds), float(load.resident_bytes)
            return LastLoad(seconds, int(held)) if 0 <= seconds < math.inf and 0 <= held < math.inf else None
        except (KeyError, TypeError, ValueError, OverflowError):
            return None

    def note_load(self, circumstances: Sequence[str], load: LastLoad) -> None:
        """Keeps it beside what was found in these circumstances, if anything was."""
        results, key = self._read(), _key(circumstances)
        if isinstance(results.get(key), dict):
            self._write(results | {key: results[key] | {"load": asdict(load)}})

    def _write(self, results: dict[str, Any]) -> None:
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
        except (OSError, ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}


def _is_exactness(found: Exactness) -> bool:
    """TypeError where its figures are none: what makes no sense would fail every request."""
    rows = found.min_rows, found.max_rows
    return (
        found.kind in ("bitwise", "near-ties") and all(type(each) is int for each in rows) and 1 <= rows[0] <= rows[1]
    )


def _key(circumstances: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(circumstances)).encode()).hexdigest()[:32]
