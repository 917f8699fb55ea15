"""The draft length: argmax by hand, hysteresis, probing, and learning a length that pays."""

import random
from itertools import accumulate
from operator import mul

import pytest

from drafting.gamma import MOST_GAMMA, OTHER_EVERY, PROBE_EVERY, PROBE_GAMMA, GammaTuner
from drafting.interface import Draft
from drafting.survival import Situation, Survival

SURE = Situation("python", "lookup", 9, 0)
VAGUE = Situation("python", "lookup", 0, 0)
LONG = Draft(tuple(range(MOST_GAMMA)), "lookup")


class Linear:
    """Milliseconds of a pass: `first` and `more` for each further row."""

    def __init__(self, first: float, more: float) -> None:
        self._first, self._more = first, more

    def of(self, rows: int) -> float:
        return self._first + self._more * (rows - 1)


def test_worths_by_hand() -> None:
    tuner = GammaTuner(Linear(10.0, 5.0))
    assert tuner.worths([0.5, 0.8]) == pytest.approx([1 / 10, 1.5 / 15, 1.9 / 20])
    assert tuner.worths([0.5, 0.8], ms_per_token=10.0) == pytest.approx([1 / 10, 1.5 / 25, 1.9 / 40])


def test_rows_that_cost_nothing_are_all_used() -> None:
    assert GammaTuner(Linear(10.0, 0.0)).lookup(VAGUE, LONG).gamma == MOST_GAMMA


def test_rows_that_cost_as_much_as_the_first_are_not() -> None:
    assert GammaTuner(Linear(10.0, 10.0)).lookup(VAGUE, LONG).gamma == 0


def test_a_surer_draft_is_a_longer_one() -> None:
    tuner = GammaTuner(Linear(10.0, 2.0))
    lengths = [tuner.lookup(SURE._replace(bucket=bucket), LONG).gamma for bucket in range(10)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_a_small_gain_changes_nothing() -> None:
    """Two lengths that are worth within 2 % of each other: the one chosen first stays."""
    tuner = GammaTuner(Linear(10.0, 6.0))
    first = tuner.lookup(SURE, Draft((1,), "lookup")).gamma
    assert first == 1
    tuner.cost = Linear(10.0, 9.05)  # now 0 would be better, by less than 2 %
    hazard = tuner.survival.hazards(SURE, 1)[0]
    worth = tuner.worths([hazard])
    assert worth[1] < worth[0] * 1.02
    assert tuner.lookup(SURE, Draft((1,), "lookup")).gamma == 1


def test_only_what_is_free_under_load() -> None:
    class Steps:
        def of(self, rows: int) -> float:
            return 10.0 if rows <= 4 else 20.0

    assert GammaTuner(Steps()).free_gamma() == 3
    assert GammaTuner(Steps()).lookup(SURE, LONG, only_free=True).gamma == 3
    assert GammaTuner(Linear(10.0, 1.0)).lookup(SURE, LONG, only_free=True).gamma == 0


def test_a_draft_model_that_does_not_pay_is_tried_now_and_then() -> None:
    tuner = GammaTuner(Linear(10.0, 0.0), ms_per_draft_token=0.5)
    situation = Situation("python", "model", 0, 0)
    for _ in range(400):
        tuner.survival.learn(situation, 0, fell=True)
    lengths = [tuner.model(situation, 8).gamma for _ in range(2 * PROBE_EVERY)]
    assert [place for place, length in enumerate(lengths, start=1) if length] == [PROBE_EVERY, 2 * PROBE_EVERY]
    assert set(lengths) == {0, PROBE_GAMMA}


def test_a_dear_draft_model_is_tried_more_rarely() -> None:
    """Two tokens of 4 ms beside passes of 10 ms, every 80 steps: 1 % of the time."""
    tuner = GammaTuner(Linear(10.0, 0.0), ms_per_draft_token=4.0)
    situation = Situation("python", "model", 0, 0)
    for _ in range(400):
        tuner.survival.learn(situation, 0, fell=True)
    lengths = [tuner.model(situation, 8).gamma for _ in range(160)]
    assert [place for place, length in enumerate(lengths, start=1) if length] == [80, 160]


def test_a_model_that_has_become_bad_and_good_again_is_asked_again() -> None:
    tuner = GammaTuner(Linear(10.0, 0.5), ms_per_draft_token=1.0)
    situation = Situation("python", "model", 0, 0)

    def asked(steps: int, *, good: bool) -> int:
        total = 0
        for _ in range(steps):
            if gamma := tuner.model(situation, 8).gamma:
                total += 1
                tuner.survival.learn(situation, gamma if good else 0, fell=not good)
        return total

    assert asked(200, good=True) == 200
    asked(1000, good=False)
    assert asked(500, good=False) <= 500 / 15
    asked(3000, good=True)
    assert asked(100, good=True) == 100


def test_little_known_drafts_are_looked_at_with_optimism() -> None:
    tuner = GammaTuner(Linear(10.0, 0.0), ms_per_draft_token=7.0)
    assert tuner.model(Situation("go", "model", 0, 0), 8).gamma > 0  # at .7 alone no token would pay


def test_what_the_other_kind_of_pass_costs_is_looked_at_now_and_then() -> None:
    tuner = GammaTuner(Linear(10.0, 1.0))
    assert [tuner.other(3, 5) for _ in range(OTHER_EVERY)] == [3] * (OTHER_EVERY - 1) + [0]
    assert [tuner.other(0, 5) for _ in range(OTHER_EVERY)].count(1) == 1
    assert {tuner.other(0, 0) for _ in range(2 * OTHER_EVERY)} == {0}


def test_a_tail_pays_where_the_models_tokens_stand() -> None:
    sure, poor = Situation("go", "model", 0, 0), Situation("python", "model", 0, 0)
    tuner = GammaTuner(Linear(10.0, 0.5), ms_per_draft_token=1.0)
    for _ in range(300):
        tuner.survival.learn(sure, 2, fell=False)
        tuner.survival.learn(poor, 0, fell=True)
    assert tuner.tail(sure, 2, SURE, LONG) > tuner.tail(poor, 2, SURE, LONG)
    assert tuner.tail(sure, MOST_GAMMA, SURE, LONG) == 0


def test_the_cost_of_a_draft_token_follows_the_drafts() -> None:
    tuner = GammaTuner(Linear(10.0, 0.5), ms_per_draft_token=1.0)
    for _ in range(100):
        tuner.drafted(4, 20.0)
    tuner.drafted(0, 1000.0)
    assert tuner.ms_per_draft_token == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize("cost", [Linear(30.0, 0.4), Linear(22.0, 2.0), Linear(1.0, 0.35)])
@pytest.mark.parametrize("hazards", [(0.65, 0.94), (0.2, 0.6), (0.95, 0.97)])
def test_within_three_percent_of_the_best_fixed_length_after_200_verifications(
    cost: Linear, hazards: tuple[float, float]
) -> None:
    """Drafts that stand by known chances, graded in full: the tokens per millisecond of what the tuner then chooses."""
    draw = random.Random(7)
    survival = Survival()
    tuner = GammaTuner(cost, survival)
    for _ in range(200):
        tuner.lookup(VAGUE, LONG)
        chances = [hazards[0], *[hazards[1]] * (MOST_GAMMA - 1)]
        stood = next((i for i, chance in enumerate(chances) if draw.random() >= chance), MOST_GAMMA)
        survival.learn(VAGUE, stood, fell=stood < MOST_GAMMA)
    chosen = tuner.lookup(VAGUE, LONG).gamma
    expected = list(accumulate(accumulate([hazards[0], *[hazards[1]] * (MOST_GAMMA - 1)], mul), initial=1.0))
    worth = [tokens / cost.of(gamma + 1) for gamma, tokens in enumerate(expected)]
    assert worth[chosen] >= 0.97 * max(worth)
