"""Grades every draft on the text that came about, whether or not it was used: full information, no exploration."""

from collections.abc import Sequence
from dataclasses import dataclass

from drafting.interface import Draft
from drafting.survival import Situation, Survival


@dataclass(slots=True)
class _Open:
    situation: Situation
    draft: Draft
    start: int
    """Position in the text that its first token is for."""


class Grading:
    """Drafts that wait for the text to reach them or to part from them."""

    def __init__(self, survival: Survival) -> None:
        self._survival = survival
        self._open: list[_Open] = []
        self._known = 0

    def add(self, situation: Situation, draft: Draft, start: int) -> None:
        """A draft for the text from position `start` on."""
        if draft.tokens:
            self._open.append(_Open(situation, draft, start))

    def follow(self, text: Sequence[int]) -> None:
        """The text has grown to this."""
        if len(text) == self._known:
            return
        self._known = len(text)
        self._open = [each for each in self._open if not self._grade(each, text)]

    def finish(self, text: Sequence[int]) -> None:
        """The text ends here: what became of later draft tokens will never be known."""
        self.follow(text)
        for each in self._open:
            if len(text) > each.start:
                self._learn(each, len(text) - each.start, fell=False)
        self._open = []

    def _grade(self, each: _Open, text: Sequence[int]) -> bool:
        """Learns of a draft whose fate is known."""
        tokens = each.draft.tokens
        written = tuple(text[each.start : each.start + len(tokens)])
        if written == tokens[: len(written)]:
            if len(written) == len(tokens):
                self._learn(each, len(tokens), fell=False)
                return True
            return False
        stood = next(place for place, token in enumerate(written) if token != tokens[place])
        self._learn(each, stood, fell=True)
        return True

    def _learn(self, each: _Open, num_stood: int, *, fell: bool) -> None:
        self._survival.learn(each.situation, num_stood, fell=fell, statement=each.draft.statement)
