"""From outcomes to the figures people quote: medians over tasks, totals, with and without looping texts."""

import os
import platform
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from decoder import installed
from decoder.bench.identity import is_looping
from decoder.bench.run import PLAIN, Outcome
from decoder.cores import available_cores, cpu_name


@dataclass(frozen=True, slots=True)
class Figures:
    """One mode over some tasks. Times are of decoding with the prompt cached; medians are over tasks."""

    num_tasks: int
    tokens_per_s: float
    ms_per_task: float
    tokens_per_step: float
    tokens_per_step_total: float
    acceptance: float
    total_seconds: float

    @staticmethod
    def of(outcomes: Sequence[Outcome]) -> "Figures":
        """The figures of at least one outcome."""
        drafted = sum(each.speculation.drafted for each in outcomes)
        accepted = sum(each.speculation.accepted for each in outcomes)
        steps = sum(each.speculation.steps for each in outcomes)
        return Figures(
            num_tasks=len(outcomes),
            tokens_per_s=round(statistics.median(len(each.tokens) / each.decode_seconds for each in outcomes), 2),
            ms_per_task=round(1000 * statistics.median(each.decode_seconds for each in outcomes), 1),
            tokens_per_step=round(statistics.median(len(e.tokens) / e.speculation.steps for e in outcomes), 3),
            tokens_per_step_total=round(sum(len(each.tokens) for each in outcomes) / steps, 3),
            acceptance=round(accepted / drafted, 3) if drafted else 0.0,
            total_seconds=round(sum(each.decode_seconds for each in outcomes), 2),
        )

    def as_json(self) -> dict[str, Any]:
        """As under `modes` in `bench --json`."""
        return {
            "tasks": self.num_tasks,
            "tokens_per_s": self.tokens_per_s,
            "ms_per_task": self.ms_per_task,
            "tokens_per_step": self.tokens_per_step,
            "tokens_per_step_total": self.tokens_per_step_total,
            "acceptance": self.acceptance,
            "total_seconds": self.total_seconds,
        }


def report(outcomes: Sequence[Outcome], *, settings: dict[str, Any]) -> dict[str, Any]:
    """The object of `bench --json`.

    identity: of the drafted modes. one_row: how plain decoding, a row a pass, compares with the same baseline.
    """
    looping = {each.task.id for each in outcomes if is_looping(each.tokens)}
    steady = [each for each in outcomes if each.task.id not in looping]
    drafted = [each for each in outcomes if each.mode != PLAIN]
    fresh = [each for each in outcomes if not each.task.is_whole_copy]
    plain = _plain_seconds(outcomes)
    return {
        "modes": {mode: _mode(group, looping, plain) for mode, group in _by_mode(outcomes).items()},
        "peers": {},
        "ratios": {
            "all": _ratios(outcomes),
            "without_looping": _ratios(steady),
            **({"without_whole_copies": _ratios(fresh)} if 0 < len(fresh) < len(outcomes) else {}),
        },
        "identity": _identity(drafted),
        "one_row": _identity([each for each in outcomes if each.mode == PLAIN]),
        "differing": [f"{each.task.id} ({each.mode})" for each in drafted if each.identity == "diverged"],
        "looping_tasks": len(looping),
        "settings": settings,
        "machine": machine(),
        "versions": versions(),
    }


def table(result: dict[str, Any], *, languages: bool = False) -> Table:
    """The result for a person, 80 columns wide: every mode over all texts, then over those that do not loop, then
    without whole copies.

    tok/step and speed as medians over tasks, beside them as totals. languages: with a row for each after its mode.
    """
    shown = Table(box=None, padding=(0, 1), pad_edge=False, collapse_padding=True)
    shown.add_column("mode", no_wrap=True)
    for name in ("tasks", "tok/s", "ms/task", "tok/step", "total", "accepted", "speed", "total"):
        shown.add_column(name, justify="right", no_wrap=True)
    for mode, figures in result["modes"].items():
        shown.add_row(mode, *_cells(figures, result["ratios"]["all"].get(mode, {})))
        for language, row in figures["by_language"].items() if languages else ():
            ratio = {"median": row["ratio"], "total": row["ratio_total"]} if "ratio" in row else {}
            shown.add_row(f"  {language}", *_cells(row, ratio))
    for key, label in (("without_looping", "no loops"), ("without_whole_copies", "no copies")):
        for mode, figures in result["modes"].items():
            if figures[key]:
                shown.add_row(f"{mode} ({label})", *_cells(figures[key], result["ratios"][key].get(mode, {})))
    return shown


def _cells(row: dict[str, Any], ratio: dict[str, float]) -> list[str]:
    return [
        str(row["tasks"]),
        f"{row['tokens_per_s']:.1f}",
        f"{row['ms_per_task']:.0f}",
        f"{row['tokens_per_step']:.2f}",
        f"{row['tokens_per_step_total']:.2f}",
        f"{row['acceptance']:.0%}",
        f"{ratio['median']:.2f}x" if ratio else "",
        f"{ratio['total']:.2f}x" if ratio else "",
    ]


def _mode(outcomes: Sequence[Outcome], looping: set[str], plain: dict[str, float]) -> dict[str, Any]:
    steady = [each for each in outcomes if each.task.id not in looping]
    fresh = [each for each in outcomes if not each.task.is_whole_copy]
    return {
        **Figures.of(outcomes).as_json(),
        "by_language": {
            language: Figures.of(group).as_json() | _language_ratio(group, plain)
            for language, group in _by_language(outcomes).items()
        },
        "without_looping": Figures.of(steady).as_json() if steady else {},
        "without_whole_copies": Figures.of(fresh).as_json() if 0 < len(fresh) < len(outcomes) else {},
    }


def _ratios(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Of every mode but plain, if plain ran."""
    plain = _plain_seconds(outcomes)
    return {mode: ratio for mode, group in _by_mode(outcomes).items() if (ratio := _ratio(group, plain))}


def _ratio(outcomes: Sequence[Outcome], plain: dict[str, float]) -> dict[str, float]:
    """Speed over plain: `total` of all decode times, `median` of the ratios task by task (side by side in time)."""
    if not plain or outcomes[0].mode == PLAIN:
        return {}
    plain_total = sum(plain[each.task.id] for each in outcomes)
    return {
        "total": round(plain_total / sum(each.decode_seconds for each in outcomes), 3),
        "median": round(statistics.median(plain[each.task.id] / each.decode_seconds for each in outcomes), 3),
    }


def _language_ratio(outcomes: Sequence[Outcome], plain: dict[str, float]) -> dict[str, float]:
    found = _ratio(outcomes, plain)
    return {"ratio": found["median"], "ratio_total": found["total"]} if found else {}


def _plain_seconds(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """By task; empty where plain did not run."""
    return {each.task.id: each.decode_seconds for each in outcomes if each.mode == PLAIN}


def _identity(outcomes: Sequence[Outcome]) -> dict[str, int]:
    counts = Counter(each.identity for each in outcomes if each.identity)
    return {name: counts[name] for name in ("identical", "tie_break", "diverged")}


def _by_mode(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for each in outcomes:
        groups.setdefault(each.mode, []).append(each)
    return groups


def _by_language(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for each in sorted(outcomes, key=lambda each: each.task.language):
        groups.setdefault(each.task.language, []).append(each)
    return groups


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "system": platform.platform(),
        "cpu": cpu_name(),
        "cores": available_cores(),
        "huge_pages": os.environ.get("GLIBC_TUNABLES", ""),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Of what decides the figures."""
    names = ("draftline", "openvino", "torch", "transformers", "tokenizers", "numpy")
    return {name: installed(name) for name in names}
