"""Drafts what followed the same tokens before: in the text being written, or in an open buffer."""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import Draft

MIN_MATCH = 2
MAX_MATCH = 32
MAX_CANDIDATES = 32
"""Earlier occurrences looked at, in the text itself and in the buffers: bounds the time of a draft."""


class LookupDrafter:
    """Prompt lookup over the context and the open buffers (Saxena 2023; Yang et al. 2023, arXiv:2304.04487).

    The longest match of the context's last tokens wins; among equals the context itself, then the most recently
    edited buffer, then the last place in it.
    """

    source = "lookup"

    def __init__(self, index: ContextIndex, corpus: Corpus | None = None, *, excluded_run: int | None = None) -> None:
        self._index = index
        self._corpus = corpus
        self._excluded_run = excluded_run

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        """As `Drafter.draft`. Every token was chosen deterministically."""
        if gamma < 1 or len(context) < MIN_MATCH:
            return Draft()
        self._index.follow(context)
        best: tuple[int, ...] = ()
        best_length = MIN_MATCH - 1
        for sequence, position in self._occurrences():
            length = _match_length(context, sequence, position)
            if length > best_length:
                best, best_length = tuple(sequence[position : position + gamma]), length
                if sequence is self._index.tokens:  # at its end the context is its own continuation: it repeats itself
                    best = tuple(islice(cycle(best), gamma))
            if best_length == MAX_MATCH:
                break
        return Draft(best, self.source) if best else Draft()

    def _occurrences(self) -> Iterator[tuple[Sequence[int], int]]:
        context = self._index.tokens
        for position in self._index.candidates(MAX_CANDIDATES):
            yield context, position
        if self._corpus is None:
            return
        pair = (context[-2], context[-1])
        for _, sequence, position in self._corpus.candidates(pair, MAX_CANDIDATES, excluded=self._excluded_run):
            if position < len(sequence):
                yield sequence, position


def _match_length(context: Sequence[int], sequence: Sequence[int], position: int) -> int:
    """Tokens before `position` that agree with the end of `context`, at most MAX_MATCH; the first two are known to."""
    limit = min(MAX_MATCH, len(context), position)
    length = MIN_MATCH
    while length < limit and context[-1 - length] == sequence[position - 1 - length]:
        length += 1
    return length
