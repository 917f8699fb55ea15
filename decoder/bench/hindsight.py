"""What a replay's steps say of the choice of draft lengths: whether it ever slowed the target down, and what it missed.

Computed from recorded steps and a cost curve; plain decoding takes a pass of one row for every token.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from decoder.bench.replay import SURVEY_GAMMA, Replayed, Survey, pass_milliseconds
from decoder.cost import PassCost
from decoder.speculate import Step

WINDOW_STEPS = 500
LEAST_TASKS = 8
"""A language with fewer tasks says nothing."""

LEARNING_STEPS = 200
LEAST_JUDGED_STEPS = 100
"""The choice of lengths may learn from the first steps of a language, and is judged by the rest if that is enough."""


@dataclass(frozen=True, slots=True)
class NeverSlower:
    """The worst speeds over plain decoding.

    language: the slowest of those with enough tasks, "" if there is none. window: over any WINDOW_STEPS steps in a row,
    over all of them where there are fewer.
    """

    language: str
    language_ratio: float | None
    window_steps: int
    window_ratio: float


@dataclass(frozen=True, slots=True)
class Regret:
    """How far the chosen lengths stay behind the best fixed one of a language. Negative: they are ahead of it."""

    best_gamma: int
    tokens_per_ms: float
    best_tokens_per_ms: float

    @property
    def share(self) -> float:
        """Of the best speed, 0.03 is 3 %."""
        return 1 - self.tokens_per_ms / self.best_tokens_per_ms


def speed_over_plain(replayed: Sequence[Replayed], cost: PassCost) -> float:
    """Of all texts together."""
    num_tokens = sum(len(each.truth.tokens) for each in replayed)
    return num_tokens * cost.plain / sum(each.milliseconds(cost) for each in replayed)


def never_slower(replayed: Sequence[Replayed], cost: PassCost) -> NeverSlower:
    """Over texts in the order in which they were written."""
    ratios = {
        language: speed_over_plain(group, cost)
        for language, group in by_language(replayed).items()
        if len(group) >= LEAST_TASKS
    }
    slowest = min(ratios, key=ratios.__getitem__, default="")
    steps = [step for each in replayed for step in each.steps]
    size = min(WINDOW_STEPS, len(steps))
    return NeverSlower(slowest, ratios.get(slowest), size, _slowest_window(steps, size, cost))


def gamma_regrets(
    replayed: Sequence[Replayed], surveys: Sequence[Survey], cost: PassCost, *, learning_steps: int = LEARNING_STEPS
) -> dict[str, Regret]:
    """By language, of those with enough steps; `replayed` and `surveys` are of the same texts in the same order."""
    groups: dict[str, list[tuple[Replayed, Survey]]] = defaultdict(list)
    for each, survey in zip(replayed, surveys, strict=True):
        groups[each.truth.task.language].append((each, survey))
    return {
        language: _regret(group, cost, learning_steps)
        for language, group in sorted(groups.items())
        if sum(len(each.steps) for each, _ in group) >= learning_steps + LEAST_JUDGED_STEPS
    }


def by_language(replayed: Iterable[Replayed]) -> dict[str, list[Replayed]]:
    """In alphabetical order."""
    groups: dict[str, list[Replayed]] = defaultdict(list)
    for each in replayed:
        groups[each.truth.task.language].append(each)
    return dict(sorted(groups.items()))


def _slowest_window(steps: Sequence[Step], size: int, cost: PassCost) -> float:
    tokens = [0, *accumulate(len(step.tokens) for step in steps)]
    spent = [0.0, *accumulate(pass_milliseconds(step, cost) for step in steps)]
    return min(
        (tokens[end] - tokens[end - size]) * cost.plain / (spent[end] - spent[end - size])
        for end in range(size, len(steps) + 1)
    )


def _regret(group: Sequence[tuple[Replayed, Survey]], cost: PassCost, learning_steps: int) -> Regret:
    """Both start where the chosen lengths had learnt from so many steps, in the middle of a text if it is there."""
    left, num_tokens, spent = learning_steps, 0, 0.0
    parts: list[tuple[Survey, int]] = []
    for replayed, survey in group:
        learning, judged = replayed.steps[:left], replayed.steps[left:]
        left -= len(learning)
        if judged:
            start = sum(len(step.tokens) for step in learning)
            parts.append((survey, start))
            num_tokens += len(survey.drafted) - start
            spent += sum(pass_milliseconds(step, cost) for step in judged)
    rates = [
        num_tokens / sum(_cost_of_gamma(survey, start, gamma, cost) for survey, start in parts)
        for gamma in range(SURVEY_GAMMA + 1)
    ]
    best = max(range(len(rates)), key=rates.__getitem__)
    return Regret(best, num_tokens / spent, rates[best])


def _cost_of_gamma(survey: Survey, start: int, gamma: int, cost: PassCost) -> float:
    """Milliseconds to write a text from `start` on with drafts of at most `gamma` tokens."""
    spent, place = 0.0, start
    while place < len(survey.drafted):
        num_drafted = min(gamma, survey.drafted[place])
        spent += cost.of(1 + num_drafted)
        place += min(num_drafted, survey.stood[place]) + 1
    return spent
