import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.speculate import Step
from decoder.tally import Tally
from decoder.wire.messages import SourceCounts, Speculation


def step(num_accepted: int, num_rejected: int, source: str) -> Step:
    return Step(tuple(range(num_accepted + 1)), num_accepted + num_rejected, num_accepted, source)


STEPS = st.lists(st.builds(step, st.integers(0, 5), st.integers(0, 5), st.sampled_from(["lookup", "model"])))


@given(STEPS)
@pytest.mark.trap(31)
def test_totals_reconcile_with_the_tokens_and_with_the_sources(steps: list[Step]) -> None:
    tally = Tally()
    for one in steps:
        tally.add(one)
    counts = tally.speculation()
    assert counts.steps == len(steps)
    assert counts.steps + counts.accepted == len(tally.tokens)
    assert counts.drafted == sum(source.drafted for source in counts.by_source.values())
    assert counts.accepted == sum(source.accepted for source in counts.by_source.values())
    assert abs(counts.gamma_mean * max(1, counts.steps) - counts.drafted) <= 0.001 * counts.steps


def test_a_step_without_a_draft_counts_for_no_source() -> None:
    tally = Tally()
    tally.add(Step((7,), 0, 0, "none"))
    tally.add(step(1, 1, "lookup"))
    assert tally.tokens == [7, 0, 1]
    assert tally.speculation() == Speculation(2, 2, 1, {"lookup": SourceCounts(2, 1)}, 1.0)


def test_an_accepted_stop_token_is_one_token_less_than_steps_and_accepted() -> None:
    tally = Tally()
    tally.add(Step((5, 0), 4, 2, "model"))  # the second draft token was the end of the text
    assert len(tally.tokens) == tally.speculation().steps + tally.speculation().accepted - 1


def test_nothing_done_is_all_zero() -> None:
    assert Tally().speculation() == Speculation()
