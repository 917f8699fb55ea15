"""The overload simulation at a small size; `python -m benchmarks.overload` runs all of it."""

from random import Random

import pytest

from benchmarks.overload.arrivals import Pattern, arrivals
from benchmarks.overload.simulation import Outcome, ratio, simulate
from benchmarks.overload.workload import WORKLOADS

SETTINGS = {each.name: each for each in WORKLOADS}


def governed(name: str, pattern: Pattern, load: float) -> tuple[Outcome, Outcome, Outcome]:
    """Speculation off, on, and governed."""
    off, on, limited = simulate(SETTINGS[name], pattern, load, seed=1, services=300)
    return off, on, limited


@pytest.mark.parametrize("name", list(SETTINGS))
def test_in_overload_the_governor_keeps_what_no_speculation_gives(name: str) -> None:
    # at three times the capacity, where it acts at once; the few answers lost before it acts weigh less in a long run
    off, _, limited = governed(name, "documents", 3.0)
    assert ratio(limited, off) >= 0.98
    assert limited.recovery < 20.0


@pytest.mark.parametrize("name", ["trap, flat", "trap, steep"])
def test_without_the_governor_dear_drafts_lose_in_overload(name: str) -> None:
    off, on, _ = governed(name, "documents", 1.5)
    assert ratio(on, off) < 0.75


def test_a_typist_keeps_the_draft_model() -> None:
    off, on, limited = governed("steep int8", "typist", 1.0)
    assert limited.permitted == 1.0
    assert ratio(limited, off) == ratio(on, off) > 1.2


def test_all_modes_answer_everything_that_is_not_superseded() -> None:
    off, on, limited = governed("flat float16", "requests", 0.7)
    assert len(off.latencies) == len(on.latencies) == len(limited.latencies)


@pytest.mark.parametrize("pattern", ["requests", "documents"])
def test_arrivals_come_at_the_rate_asked_for(pattern: Pattern) -> None:
    made = arrivals(pattern, 2.0, 1000.0, Random(0))
    assert len(made) == pytest.approx(2000, rel=0.1)
    assert [each.time for each in made] == sorted(each.time for each in made)
