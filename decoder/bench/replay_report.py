"""From a replay's steps to figures: tokens per step, what they cost, and how well draft lengths were chosen."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from decoder.bench.hindsight import Regret, by_language, gamma_regrets, never_slower, speed_over_plain
from decoder.bench.identity import is_looping
from decoder.bench.replay import Replayed, Survey
from decoder.cost import PassCost
from decoder.tally import Tally

ASSUMPTIONS = (
    "the target writes exactly the known text",
    "greedy acceptance: a draft stands as long as it agrees with that text",
    "time is the cost curve's for passes by their rows, not measured; plain takes a pass of one row for each token",
    "drafting costs nothing; how long it took is draft_us, first_draft_us where the prompt had to be indexed as well",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """One mode over some texts. Medians are over tasks; ratios are speeds over plain decoding."""

    tasks: int
    tokens: int
    tokens_per_step: float
    tokens_per_step_total: float
    drafted_per_step: float
    acceptance: float
    ms_per_task: float
    ratio: float
    ratio_total: float

    @staticmethod
    def of(replayed: Sequence[Replayed], cost: PassCost) -> "Figures":
        """The figures of at least one text."""
        steps = [step for each in replayed for step in each.steps]
        drafted = sum(step.num_drafted for step in steps)
        num_tokens = sum(len(each.truth.tokens) for each in replayed)
        return Figures(
            tasks=len(replayed),
            tokens=num_tokens,
            tokens_per_step=round(statistics.median(len(e.truth.tokens) / len(e.steps) for e in replayed), 3),
            tokens_per_step_total=round(num_tokens / len(steps), 3),
            drafted_per_step=round(drafted / len(steps), 3),
            acceptance=_share(sum(step.num_accepted for step in steps), drafted),
            ms_per_task=round(statistics.median(each.milliseconds(cost) for each in replayed), 1),
            ratio=round(statistics.median(speed_over_plain([each], cost) for each in replayed), 3),
            ratio_total=round(speed_over_plain(replayed, cost), 3),
        )


@dataclass(frozen=True, slots=True)
class Graded:
    """One mode under one cost curve: its texts in the order in which they were written.

    surveys: of the same texts, none where the draft length was not the tuner's choice.
    """

    replayed: Sequence[Replayed]
    surveys: Sequence[Survey]


def mode_report(graded: Graded, cost: PassCost) -> dict[str, Any]:
    """As under `curves.NAME.modes` in `bench --replay ... --json`."""
    replayed = graded.replayed
    steady = [each for each in replayed if not is_looping(each.truth.tokens)]
    fresh = [each for each in replayed if not each.truth.task.is_whole_copy]
    return {
        **asdict(Figures.of(replayed, cost)),
        "by_source": _by_source(replayed),
        "draft_us": _percentiles([us for each in replayed for us in each.draft_us[1:]]),
        "first_draft_us": _percentiles([each.draft_us[0] for each in replayed]),
        "by_language": {name: asdict(Figures.of(group, cost)) for name, group in by_language(replayed).items()},
        "without_looping": asdict(Figures.of(steady, cost)) if 0 < len(steady) < len(replayed) else {},
        "without_whole_copies": asdict(Figures.of(fresh, cost)) if 0 < len(fresh) < len(replayed) else {},
        "never_slower": _rounded(asdict(never_slower(replayed, cost))),
        "gamma_regret": _regrets(graded, cost),
    }


def replay_tables(result: dict[str, Any], *, languages: bool = False) -> Iterable[Table | str]:
    """For a person, 80 columns wide: a table for each cost curve, and what it says of the draft lengths.

    tok/step and speed (over plain) as medians over tasks, beside them as totals. languages: with a row for each.
    """
    for name, curve in result["curves"].items():
        shown = Table(title=f"cost: {name}", title_justify="left", box=None, padding=(0, 1), pad_edge=False)
        shown.add_column("mode", no_wrap=True)
        for heading in ("tasks", "tok/step", "total", "drafted", "accepted", "speed", "total"):
            shown.add_column(heading, justify="right", no_wrap=True)
        for mode, figures in curve["modes"].items():
            for label, row in _rows(mode, figures, languages):
                shown.add_row(label, *_cells(row))
        yield shown
        for mode, figures in curve["modes"].items():
            yield from _sentences(mode, figures)


def _rows(mode: str, figures: dict[str, Any], languages: bool) -> Iterable[tuple[str, dict[str, Any]]]:
    yield mode, figures
    for label, key in (("no loops", "without_looping"), ("no copies", "without_whole_copies")):
        if figures[key]:
            yield f"{mode} ({label})", figures[key]
    if languages:
        for language, row in figures["by_language"].items():
            yield f"  {language}", row


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        str(row["tasks"]),
        f"{row['tokens_per_step']:.2f}",
        f"{row['tokens_per_step_total']:.2f}",
        f"{row['drafted_per_step']:.1f}",
        f"{row['acceptance']:.0%}",
        f"{row['ratio']:.2f}x",
        f"{row['ratio_total']:.2f}x",
    ]


def _sentences(mode: str, figures: dict[str, Any]) -> Iterable[str]:
    sources = ", ".join(f"{name} {counts['acceptance']:.0%}" for name, counts in figures["by_source"].items())
    took, first = figures["draft_us"], figures["first_draft_us"]
    yield (
        f"{mode}: accepted by source {sources or 'none'}; a draft takes {took['p50']} us (p99 {took['p99']}),"
        f" the first of a text {first['p50']} us"
    )
    worst = figures["never_slower"]
    slowest = f"{worst['language_ratio']:.3f}x of plain in {worst['language']}, " if worst["language"] else ""
    yield f"{mode}: at its slowest {slowest}{worst['window_ratio']:.3f}x over {worst['window_steps']} steps"
    regrets = figures["gamma_regret"]
    if regrets:
        language = max(regrets, key=lambda name: float(regrets[name]["regret"]))
        share = regrets[language]["regret"]
        distance = f"at most {share:.1%} behind" if share >= 0 else f"at least {-share:.1%} ahead of"
        yield (
            f"{mode}: {distance} the best fixed gamma"
            f" ({language}, gamma {regrets[language]['best_gamma']}; {len(regrets)} languages)"
        )


def _by_source(replayed: Sequence[Replayed]) -> dict[str, dict[str, float]]:
    tally = Tally()
    for each in replayed:
        for step in each.steps:
            tally.add(step)
    return {
        source: {**asdict(counts), "acceptance": _share(counts.accepted, counts.drafted)}
        for source, counts in tally.speculation().by_source.items()
    }


def _regrets(graded: Graded, cost: PassCost) -> dict[str, dict[str, float]]:
    if not graded.surveys:
        return {}
    found = gamma_regrets(graded.replayed, graded.surveys, cost)
    return {language: _regret_as_json(regret) for language, regret in found.items()}


def _regret_as_json(regret: Regret) -> dict[str, float]:
    return {
        "regret": round(regret.share, 4),
        "best_gamma": regret.best_gamma,
        "tokens_per_ms": round(regret.tokens_per_ms, 5),
        "best_tokens_per_ms": round(regret.best_tokens_per_ms, 5),
    }


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values) or [0.0]
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)
        for name, share in (("p50", 0.5), ("p99", 0.99))
    }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0
