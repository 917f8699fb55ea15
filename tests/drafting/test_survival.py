"""Survival: censoring, decay, what estimates lean on, and keeping them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafting.survival import MOST_LANGUAGES, MOST_POSITIONS, PRIOR_WEIGHT, Situation, Survival, cold_start, outcome

PYTHON = Situation("python", "lookup", 5, 0)


def learned(times: int, num_stood: int, *, fell: bool, situation: Situation = PYTHON) -> Survival:
    survival = Survival()
    for _ in range(times):
        survival.learn(situation, num_stood, fell=fell)
    return survival


def test_starts_from_what_the_bucket_says() -> None:
    assert Survival().hazards(PYTHON, 3) == [cold_start("lookup", 5, position) for position in (1, 2, 3)]
    assert cold_start("lookup", 9, 1) > 0.85 > 0.2 > cold_start("lookup", 0, 1)
    assert Survival().hazards(Situation("go", "model", 0, 0), 2) == [0.7, 0.7]


def test_one_verification_by_hand() -> None:
    """Each of the five levels averages the one before it, which counts for PRIOR_WEIGHT, with one success."""
    expected = cold_start("lookup", 5, 1)
    for _ in range(5):
        expected = (1 + PRIOR_WEIGHT * expected) / (1 + PRIOR_WEIGHT)
    assert learned(1, 1, fell=False).hazards(PYTHON, 1) == [pytest.approx(expected)]


def test_what_comes_after_the_first_fall_is_censored() -> None:
    first, second, third = learned(300, 1, fell=True).hazards(PYTHON, 3)
    assert first > 0.95
    assert second < 0.05
    assert third == pytest.approx(cold_start("lookup", 5, 3))


def test_a_text_that_ended_is_no_fall() -> None:
    first, second = learned(300, 1, fell=False).hazards(PYTHON, 2)
    assert first > 0.95
    assert second == pytest.approx(cold_start("lookup", 5, 2))


def test_the_last_few_hundred_speak() -> None:
    survival = learned(2000, 0, fell=True)
    for _ in range(600):
        survival.learn(PYTHON, 1, fell=False)
    assert survival.hazards(PYTHON, 1)[0] > 0.9


def test_another_language_leans_on_what_all_have_shown() -> None:
    survival = learned(300, 0, fell=True)
    ruby, haskell = (survival.hazards(PYTHON._replace(language=name), 1)[0] for name in ("ruby", "haskell"))
    assert ruby < haskell < cold_start("lookup", 5, 1)  # of the same family, and of none


def test_crossing_the_end_of_a_statement_is_another_matter() -> None:
    survival = Survival()
    for _ in range(200):
        survival.learn(PYTHON, 2, fell=True, statement=2)
    within, across = survival.hazards(PYTHON, 4), survival.hazards(PYTHON, 4, statement=2)
    assert across[:2] == within[:2]
    assert across[2] < 0.1 < 0.5 < within[2]
    assert across[3] == within[3]


def test_tells_what_it_has_learned_of() -> None:
    survival = learned(3, 2, fell=True)
    survival.learn(PYTHON._replace(previous=2), 0, fell=True)
    survival.learn(Situation("go", "model", 0, 1), 1, fell=False)
    survival.learn(Situation("go", "renamed", 9, 1), 0, fell=True, statement=0)  # no word on first tokens as such
    assert dict(Survival.restored(survival.state()).situations()) == {
        PYTHON: pytest.approx(2.94, abs=0.01),
        PYTHON._replace(previous=2): 1.0,
        Situation("go", "model", 0, 1): 1.0,
    }


def test_outcomes() -> None:
    assert [outcome(0, 0), outcome(3, 0), outcome(3, 2), outcome(3, 3)] == [0, 1, 2, 3]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 3), st.integers(0, 40), st.booleans()))
)
def test_estimates_are_probabilities_and_outlive_the_process(
    history: list[tuple[str, int, int, int, bool]],
) -> None:
    survival = Survival()
    for language, bucket, previous, num_stood, fell in history:
        survival.learn(Situation(language, "lookup", bucket, previous), num_stood, fell=fell)
    restored = Survival.restored(json.loads(json.dumps(survival.state())))
    for language, bucket, previous, _, _ in history:
        situation = Situation(language, "lookup", bucket, previous)
        hazards = survival.hazards(situation, 99)
        assert len(hazards) == MOST_POSITIONS
        assert all(0.0 < hazard < 1.0 for hazard in hazards)
        assert restored.hazards(situation, 99) == pytest.approx(hazards, abs=1e-3)


@pytest.mark.parametrize(
    "state",
    [
        [[["a"], [1.0], [1.5]]],
        [[["a"], [-1.0], [0.0]]],
        [[["a"], [0.0] * 26, []]],
        [[["a"], ["x"], []]],
        [[["lookup", "1", "0", "go", "often"], [1.0], [1.0]]],
    ],
)
def test_refuses_counts_that_make_no_sense(state: list[list[object]]) -> None:
    with pytest.raises(ValueError, match=r"make no sense|could not convert|invalid literal"):
        Survival.restored(state)


def test_only_so_many_languages_are_remembered_whatever_they_are_called() -> None:
    survival = Survival()
    for number in range(MOST_LANGUAGES + 5):
        survival.learn(PYTHON._replace(language=f"language\t{number}"), 1, fell=False)
    languages = {situation.language for situation, _ in survival.situations()}
    assert languages == {f"language\t{number}" for number in range(5, MOST_LANGUAGES + 5)}
    assert Survival.restored(survival.state()).state() == survival.state()
