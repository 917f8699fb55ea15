"""Drafts what followed the same tokens before: in the text being written, or in an open buffer."""

from collections.abc import Sequence

from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.exact import ExactMatch, exact_matches
from drafting.interface import Draft

MAX_CANDIDATES = 16
"""Earlier occurrences looked at, in the text itself and in the buffers: bounds the time of a draft."""

_TENTHS = (0, 0, 4, 5, 6, 6, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9)
"""How often the first token of a draft stands, by the length of its match (measured on what was really written)."""

_TENTHS_OF_SECOND = 1


class LookupDrafter:
    """Prompt lookup over the context and the open buffers (Saxena 2023; Yang et al. 2023, arXiv:2304.04487).

    The longest match of the context's last two tokens or more wins; among equals the context itself, then the most
    recently edited buffer, then the last place in it.

    One for each request, whose context only grows, but for tokens that were drafted and not accepted.
    """

    source = "lookup"

    def __init__(self, index: ContextIndex, corpus: Corpus | None = None, *, excluded_run: int | None = None) -> None:
        self._index = index
        self._corpus = corpus
        self._excluded_run = excluded_run

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        """As `Drafter.draft`. Every token was chosen deterministically."""
        return next(iter(self.candidates(context, gamma)), Draft())

    def candidates(self, context: Sequence[int], gamma: int) -> list[Draft]:
        """The best draft, and the best one that begins otherwise. `Draft.bucket`: tenths of certainty."""
        if gamma < 1:
            return []
        self._index.follow(context, by=self)
        best: list[ExactMatch] = []
        for match in sorted(self._matches(), key=lambda match: -match.length):
            if all(match.tokens[match.position] != other.tokens[other.position] for other in best):
                best.append(match)
            if len(best) == 2:
                break
        buckets = (_TENTHS[min(best[0].length, len(_TENTHS) - 1)], _TENTHS_OF_SECOND) if best else ()
        return [
            Draft(match.continuation(gamma), self.source, bucket=bucket, statement=match.statement())
            for match, bucket in zip(best, buckets, strict=False)
        ]

    def _matches(self) -> list[ExactMatch]:
        return exact_matches(self._index, self._corpus, MAX_CANDIDATES, excluded=self._excluded_run)
