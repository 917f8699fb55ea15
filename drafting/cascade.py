"""Which drafter speaks at a step, and for how long: lookup where it knows more, the draft model where that pays."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from drafting.gamma import LEAST_GAIN, MOST_GAMMA, GammaTuner, Worth
from drafting.grading import Grading
from drafting.interface import Draft, Drafter
from drafting.survival import Situation, outcome


@dataclass(frozen=True, slots=True)
class Permit:
    """What the load allows: whether the draft model may draft, and whether lookup only where it costs nothing."""

    model: bool = True
    only_free: bool = False


_MODEL = Draft(source="model")
"""Any draft of the model: before it has drawn, nothing else is known of it."""


class LookupCandidates(Protocol):
    """A drafter whose drafts depend on the context alone, and that may know more than one."""

    def candidates(self, context: Sequence[int], gamma: int) -> Sequence[Draft]:
        """Drafts of at most `gamma` tokens, the likeliest first."""
        ...


class Cascade:
    """The `Drafter` of one request.

    Lookup drafts first, for that costs nothing. Its draft is cut where further tokens would not pay; where the draft
    model promises more tokens per millisecond, the model drafts instead, and lookup continues after it. All lookup
    drafts for the text are graded on what came about, used or not; one that continues the model's tokens is not.

    The choices depend on the text and on lookup's drafts, which are functions of the text; a token that the draft model
    has drawn is never taken back. So the acceptance rules keep the target's distribution.
    """

    def __init__(
        self,
        tuner: GammaTuner,
        language: str,
        *,
        lookup: LookupCandidates | None = None,
        model: Drafter | None = None,
        permit: Callable[[], Permit] = Permit,
    ) -> None:
        self._tuner = tuner
        self._language = language
        self._lookup = lookup
        self._model = model
        self._permit = permit
        self._grading = Grading(tuner.survival)
        self._previous = 0
        self._last: tuple[Draft, int] | None = None

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        """As `Drafter.draft`; often shorter than `gamma`."""
        self._look_back(context)
        permit = self._permit()
        found, worth = self._best_lookup(context, gamma, permit)
        draft = Draft()
        if self._model and permit.model:
            own = self._tuner.model(self._situation(_MODEL), gamma)
            if own.gamma and own.tokens_per_ms >= (1 + LEAST_GAIN) * worth.tokens_per_ms:
                draft = self._model_draft(context, own.gamma, gamma)
        if not draft.tokens:  # or the draft model's window is full
            most = 0 if permit.only_free else min(gamma, len(found.tokens))
            draft = found.cut(self._tuner.other(worth.gamma, most))
        self._last = (draft, len(context))
        return draft

    def finish(self, context: Sequence[int]) -> None:
        """The text ends here: learns what became of the last drafts."""
        self._look_back(context)
        self._grading.finish(context)

    def _look_back(self, context: Sequence[int]) -> None:
        """At the drafts whose fate `context` tells."""
        self._grading.follow(context)
        if self._last is None:
            return
        draft, start = self._last
        written = context[start:]
        num_accepted = next((i for i, (a, b) in enumerate(zip(draft.tokens, written, strict=False)) if a != b), None)
        stood = min(len(draft.tokens), len(written)) if num_accepted is None else num_accepted
        self._previous = outcome(len(draft.tokens), stood)
        self._last = None

    def _best_lookup(self, context: Sequence[int], gamma: int, permit: Permit) -> tuple[Draft, Worth]:
        best, best_worth = Draft(), Worth(0, 1.0 / self._tuner.cost.of(1))
        if self._lookup is None or gamma < 1:
            return best, best_worth
        for found in self._lookup.candidates(context, MOST_GAMMA):
            situation = self._situation(found)
            self._grading.add(situation, found, len(context))
            worth = self._tuner.lookup(situation, found.cut(gamma), only_free=permit.only_free)
            if not best.tokens or worth.tokens_per_ms >= (1 + LEAST_GAIN) * best_worth.tokens_per_ms:
                best, best_worth = found, worth
        return best, best_worth

    def _model_draft(self, context: Sequence[int], length: int, gamma: int) -> Draft:
        assert self._model is not None
        started = time.perf_counter()
        draft = self._model.draft(context, length)
        self._tuner.drafted(len(draft.tokens), 1000 * (time.perf_counter() - started))
        situation = self._situation(_MODEL)
        self._grading.add(situation, draft, len(context))
        if self._lookup is None or len(draft.tokens) < length or length >= gamma:
            return draft
        more = next(iter(self._lookup.candidates([*context, *draft.tokens], MOST_GAMMA)), Draft())
        tail = self._tuner.tail(situation, length, self._situation(more), more)
        return joined(draft, more.cut(min(gamma - length, tail)))

    def _situation(self, draft: Draft) -> Situation:
        return Situation(self._language, draft.source, draft.bucket, self._previous, draft.alike)


def joined(draft: Draft, tail: Draft) -> Draft:
    """One block of two drafts, the second of which was chosen deterministically."""
    if not tail.tokens:
        return draft
    rows = draft.probabilities
    if rows is not None:
        rows = (*rows, *[None] * len(tail.tokens))
    return replace(
        draft, tokens=(*draft.tokens, *tail.tokens), probabilities=rows, tail=(tail.source, len(tail.tokens))
    )
