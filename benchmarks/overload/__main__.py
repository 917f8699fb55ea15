"""Speculation under load: off, on, and on as the governor permits. `python -m benchmarks.overload`, some minutes.

Nothing here is measured on a machine: passes cost what a curve says, and how many draft tokens stand is drawn.
"""

import statistics
from collections.abc import Callable, Sequence
from itertools import product

from rich.console import Console
from rich.table import Table

from benchmarks.overload.arrivals import PATTERNS
from benchmarks.overload.simulation import Outcome, ratio, simulate
from benchmarks.overload.workload import WORKLOADS

LOADS = (0.3, 0.7, 1.0, 1.5, 3.0)
OVERLOADS = (1.0, 1.5, 3.0)
LEAST_RATIO = 0.98


def main() -> None:
    console = Console(width=160)
    console.print("off / on / as the governor permits; answers and tokens a second as a share of off")
    least, permitted, recovery = 9.9, 1.0, 0.0
    for workload in WORKLOADS:
        table = Table("arrivals", "load", "answers", "tokens", "mean s", "p95 s", "permitted", "on again, s", box=None)
        for pattern, load in product(PATTERNS, LOADS):
            outcomes = simulate(workload, pattern, load, seed=1)
            table.add_row(pattern, f"{load}", *_cells(outcomes))
            recovery = max(recovery, outcomes[-1].recovery)
            if pattern == "typist":
                permitted = min(permitted, outcomes[-1].permitted)
            elif load in OVERLOADS:
                least = min(least, ratio(outcomes[-1], outcomes[0]))
        console.print(f"\n{workload.name}", table)
    verdict = "holds" if least >= LEAST_RATIO else "is missed"
    console.print(f"\nin overload at least {least:.3f} of off: the bar of {LEAST_RATIO} {verdict}")
    console.print(f"speculation is on again {recovery:.1f} s after the last request at most")
    console.print(f"with one typist, who overloads nobody, the draft model may draft in {permitted:.0%} of the steps")


def _cells(outcomes: Sequence[Outcome]) -> list[str]:
    off = outcomes[0]
    return [
        f"{off.answers / off.seconds:.2f}/s " + _each(outcomes[1:], lambda each: each.answers / off.answers, 3),
        f"{off.tokens / off.seconds:.1f}/s " + _each(outcomes[1:], lambda each: each.tokens / off.tokens, 3),
        _each(outcomes, lambda each: statistics.fmean(each.latencies), 2),
        _each(outcomes, lambda each: statistics.quantiles(each.latencies, n=20)[-1], 2),
        f"{outcomes[-1].permitted:.2f}",
        f"{outcomes[-1].recovery:.1f}",
    ]


def _each(outcomes: Sequence[Outcome], figure: Callable[[Outcome], float], digits: int) -> str:
    return " / ".join(f"{figure(each):.{digits}f}" for each in outcomes)


if __name__ == "__main__":
    main()
