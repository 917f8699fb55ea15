"""Grades drafts on texts that are known beforehand, in the loop of decoding itself: nothing is computed but drafts.

Assumed: the target writes just the known text; a draft stands as long as it agrees with it (greedy acceptance); time
is what a cost curve says of passes by their rows, and drafts cost nothing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from decoder.accept import Accepted, coupled
from decoder.bench.truth import Truth
from decoder.cost import PassCost
from decoder.speculate import Step, speculate
from drafting.interface import Array, Draft, Drafter, Learning, Vocabulary
from drafting.prefix_cache import PrefixCache

SURVEY_GAMMA = 31
"""Longest draft of a survey: with it a pass has as many rows as the longest that cost curves know."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The steps that it takes to write one text. draft_us: microseconds that the drafter took at each."""

    truth: Truth
    steps: tuple[Step, ...]
    draft_us: tuple[float, ...]

    def milliseconds(self, cost: PassCost) -> float:
        """What the passes of all steps cost."""
        return sum(pass_milliseconds(step, cost) for step in self.steps)


def pass_milliseconds(step: Step, cost: PassCost) -> float:
    """What the pass of one step costs: one row for the last token, one for each draft token."""
    return cost.of(1 + step.num_drafted)


@dataclass(frozen=True, slots=True)
class Survey:
    """For each place of a text: how long a draft there is, at most SURVEY_GAMMA, and how much of it stands.

    A shorter draft is taken to be the beginning of a longer one, so that this tells what any draft length would do.
    """

    truth: Truth
    drafted: tuple[int, ...]
    stood: tuple[int, ...]


def replay(truth: Truth, drafter: Drafter, gamma: int) -> Replayed:
    """Writes a text with drafts of at most `gamma` tokens."""
    timed = _Timed(drafter)
    steps = speculate(
        PrefixCache(KnownTarget(Vocabulary(0, ""))),
        timed,
        truth.context,
        _KnownChoices(truth),
        gamma=lambda: gamma,
        max_tokens=len(truth.tokens),
    )
    written = tuple(steps)
    return Replayed(truth, written, tuple(timed.microseconds))


def survey(truth: Truth, drafter: Drafter) -> Survey:
    """Asks for a draft at every place of a text."""
    text = [*truth.context, *truth.tokens]
    drafted, stood = [], []
    for place in range(len(truth.context), len(text)):
        draft = drafter.draft(text[:place], min(SURVEY_GAMMA, len(text) - place - 1))
        drafted.append(len(draft.tokens))
        stood.append(coupled(draft, text[place:]).num_accepted)
    return Survey(truth, tuple(drafted), tuple(stood))


class KnownTarget:
    """A `LanguageModel` that computes nothing."""

    name = "known text"
    context_length = max_rows = 1 << 30
    min_rows = 1

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def extend(self, _tokens: Sequence[int], *, last: int | None = None) -> Array:
        """No logits: see `_KnownChoices`."""

    def rewind(self, length: int) -> None:
        """Nothing is held."""


class _KnownChoices:
    """A `Chooser` that knows what is to be written."""

    def __init__(self, truth: Truth) -> None:
        self._text = (*truth.context, *truth.tokens)

    def accept(self, draft: Draft, _logits: Array, position: int) -> Accepted:
        return coupled(draft, self._text[position:])


class _Timed:
    """Another drafter, with the microseconds that each of its drafts took."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter
        self.microseconds: list[float] = []

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        started = time.perf_counter_ns()
        draft = self._drafter.draft(context, gamma)
        self.microseconds.append((time.perf_counter_ns() - started) / 1000)
        return draft

    def finish(self, context: Sequence[int]) -> None:
        if isinstance(self._drafter, Learning):
            self._drafter.finish(context)
