"""What the latency log says of the answers in one file type."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from decoder.cost import PassCost

CostOf = Callable[[str], PassCost | None]
"""What passes of a target cost here, by its name, where that is known."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """answers: all, of which `shown` had a text; the others were cancelled, or had nothing to say.

    median_ms, p95_ms: from the request to its answer, of those with a text; None where there are none.
    tokens_per_step: 1 + accepted / steps, None without a step. acceptance: share of draft tokens, by source.
    speedup: over passes of one row, estimated from what passes cost here today, each answer's by its mean draft length;
        None where nobody knows that. Answers that a draft model had a part in are left out of it, as what its own
        passes cost is not remembered.
    """

    language: str
    answers: int
    shown: int
    median_ms: float | None
    p95_ms: float | None
    tokens_per_step: float | None
    speedup: float | None
    acceptance: dict[str, float]


def answer_rows(records: Iterable[dict[str, Any]], cost_of: CostOf) -> Iterator[AnswerRow]:
    """By file type, from the records of a log."""
    sums: defaultdict[str, _Sum] = defaultdict(_Sum)
    for record in records:
        sums[record["language"]].add(record, cost_of)
    for language in sorted(sums):
        yield sums[language].row(language)


@dataclass(slots=True)
class _Sum:
    answers: int = 0
    total_ms: list[float] = field(default_factory=list)
    steps: int = 0
    plain_ms: float = 0.0
    drafting_ms: float = 0.0
    drafted: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)

    def add(self, record: dict[str, Any], cost_of: CostOf) -> None:
        speculation = record["speculation"]
        self.answers += 1
        self.steps += speculation["steps"]
        if record["shown_characters"]:
            self.total_ms.append(record["timings_ms"]["total"])
        for source, counts in speculation["by_source"].items():
            self.drafted[source] += counts["drafted"]
            self.accepted[source] += counts["accepted"]
        if speculation["steps"] and "model" not in speculation["by_source"] and (cost := cost_of(record["model"])):
            self.plain_ms += (speculation["steps"] + speculation["accepted"]) * cost.plain
            self.drafting_ms += speculation["steps"] * cost.of(1 + speculation["gamma_mean"])

    def row(self, language: str) -> AnswerRow:
        median_ms, p95_ms = np.percentile(self.total_ms, [50, 95]).round(1).tolist() if self.total_ms else (None, None)
        return AnswerRow(
            language,
            self.answers,
            shown=len(self.total_ms),
            median_ms=median_ms,
            p95_ms=p95_ms,
            tokens_per_step=round(1 + self.accepted.total() / self.steps, 2) if self.steps else None,
            speedup=round(self.plain_ms / self.drafting_ms, 2) if self.drafting_ms else None,
            acceptance={
                source: round(self.accepted[source] / drafted, 3)
                for source, drafted in sorted(self.drafted.items())
                if drafted
            },
        )
