"""A replay's figures for a person."""

from dataclasses import replace

import pytest
from rich.console import Console

from decoder.bench.replay import Survey
from decoder.bench.replay_report import Graded, mode_report, replay_tables
from decoder.cost import PassCost
from tests.decoder.bench.texts import replayed, truth

COST = PassCost((1, 2, 3), (10.0, 15.0, 20.0))


def shown(graded: Graded) -> str:
    console = Console(width=80, highlight=False, soft_wrap=True)
    with console.capture() as captured:
        for part in replay_tables({"curves": {"dear": {"modes": {"lookup": mode_report(graded, COST)}}}}):
            console.print(part)
    return captured.get()


def test_looping_texts_are_left_out_of_second_figures() -> None:
    looping = replace(replayed([(1, 1)] * 2), truth=truth((5, 5, 5, 5)))
    figures = mode_report(Graded([replayed([(1, 0)] * 3), looping], ()), COST)
    assert figures["tokens_per_step_total"] == 1.4
    assert figures["without_looping"]["tokens_per_step_total"] == 1.0
    assert "lookup (no loops)" in shown(Graded([replayed([(1, 0)]), looping], ()))


def test_the_first_draft_of_a_text_is_timed_apart() -> None:
    timed = replace(replayed([(0, 0)] * 3), draft_us=(900.0, 20.0, 40.0))
    figures = mode_report(Graded([timed], ()), COST)
    assert figures["draft_us"] == {"p50": 40.0, "p99": 40.0}
    assert figures["first_draft_us"] == {"p50": 900.0, "p99": 900.0}


@pytest.mark.parametrize(
    ("stood", "said"),
    [
        (1, "lookup: at most 25.0% behind the best fixed gamma (go, gamma 1; 1 languages)"),
        (0, "lookup: at most 0.0% behind the best fixed gamma (go, gamma 0; 1 languages)"),
    ],
)
def test_the_regret_of_the_worst_language_is_told(stood: int, said: str) -> None:
    # judged are the last 300 tokens: 3,000 ms without drafts; where one token of each stands, 2,250 ms with them
    chosen = replayed([(0, 0)] * 500)
    survey = Survey(chosen.truth, drafted=(1,) * 499 + (0,), stood=(stood,) * 499 + (0,))
    assert said in shown(Graded([chosen], [survey]))


def test_lengths_chosen_place_by_place_may_be_ahead_of_every_fixed_one() -> None:
    # drafts where they stand, and none where they would not: 2,500 ms; with one token everywhere 2,995 ms
    chosen = replayed([(0, 0)] * 200 + [(1, 1), (0, 0)] * 100)
    right = (1,) * 200 + (1, 0, 0) * 100
    survey = Survey(chosen.truth, drafted=(1,) * 499 + (0,), stood=right)
    assert "lookup: at least 19.8% ahead of the best fixed gamma (go, gamma 1;" in shown(Graded([chosen], [survey]))
