"""Grading drafts on known texts, in the loop of decoding."""

from collections.abc import Sequence

from decoder.bench.replay import Survey, pass_milliseconds, replay, survey
from decoder.cost import PassCost
from drafting.interface import Draft
from tests.decoder.bench.texts import truth
from tests.fakes import FixedDrafter

WRITTEN = truth([1, 2, 3, 4, 5, 6], context=[0])
GUESS = [0, 1, 2, 9, 4, 5, 6]
"""Right but for the third token."""


class LearningDrafter(FixedDrafter):
    """Knows a text, appends another source's last token to its drafts, and is told how texts ended."""

    told: Sequence[int] = ()

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        tokens = super().draft(context, gamma).tokens
        return Draft(tokens, "own", tail=("appended", 1)) if len(tokens) > 1 else Draft(tokens, "own")

    def finish(self, context: Sequence[int]) -> None:
        self.told = list(context)


def test_a_draft_stands_as_long_as_it_is_what_is_written() -> None:
    found = replay(WRITTEN, FixedDrafter(GUESS), 4)
    assert [step.tokens for step in found.steps] == [(1, 2, 3), (4, 5, 6)]
    assert [(step.num_drafted, step.num_accepted) for step in found.steps] == [(4, 2), (2, 2)]
    assert len(found.draft_us) == 2


def test_without_drafts_every_token_takes_a_step() -> None:
    found = replay(WRITTEN, FixedDrafter(GUESS), 0)
    assert [step.tokens for step in found.steps] == [(1,), (2,), (3,), (4,), (5,), (6,)]


def test_a_pass_costs_what_the_curve_says_of_its_rows() -> None:
    cost = PassCost((1, 5), (10.0, 18.0))
    found = replay(WRITTEN, FixedDrafter(GUESS), 4)
    assert [pass_milliseconds(step, cost) for step in found.steps] == [18.0, 14.0]
    assert found.milliseconds(cost) == 32.0


def test_sources_of_one_draft_are_told_apart_and_the_drafter_learns_the_end() -> None:
    drafter = LearningDrafter(GUESS)
    found = replay(WRITTEN, drafter, 4)
    assert [list(step.shares()) for step in found.steps] == [
        [("own", 3, 2), ("appended", 1, 0)],
        [("own", 1, 1), ("appended", 1, 1)],
    ]
    assert list(drafter.told) == [0, 1, 2, 3, 4, 5, 6]


def test_a_survey_asks_everywhere_what_the_longest_draft_is_worth() -> None:
    drafter = FixedDrafter(GUESS)
    assert survey(WRITTEN, drafter) == Survey(WRITTEN, drafted=(5, 4, 3, 2, 1, 0), stood=(2, 1, 0, 2, 1, 0))
    assert drafter.asked == [5, 4, 3, 2, 1, 0]
