"""Where the last tokens of the text being written stood before, in the text itself and in the open buffers."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.passage import Passage

MAX_MATCH = 32


class ExactMatch(NamedTuple):
    """The last `length` tokens of the text also stand before `position` of `tokens`.

    rank: how many matches of its kind were found before it, each more recent. passage: None in the text itself.
    """

    length: int
    rank: int
    tokens: Sequence[int]
    position: int
    passage: Passage | None

    def continuation(self, gamma: int) -> tuple[int, ...]:
        """At most `gamma` tokens that stand there. At its end the text is its own continuation: it repeats itself."""
        found = tuple(self.tokens[self.position : self.position + gamma])
        return found if self.passage else tuple(islice(cycle(found), gamma))

    def statement(self) -> int | None:
        """As `Draft.statement`."""
        distances = self.passage.distances if self.passage else b""
        return distances[self.position] or None if distances else None


def exact_matches(
    index: ContextIndex, corpus: Corpus | None, limit: int, *, excluded: int | None = None
) -> list[ExactMatch]:
    """Of the last two tokens or more: at most `limit` in the text and `limit` in the buffers.

    The text itself comes first, then the most recently edited buffer; within each the last position first.
    """
    context = index.tokens
    if len(context) < 2:
        return []
    found = [
        ExactMatch(_length(context, context, position), rank, context, position, None)
        for rank, position in enumerate(index.pairs(limit))
    ]
    if corpus is not None:
        for rank, (passage, position) in enumerate(corpus.exact((context[-2], context[-1]), limit, excluded=excluded)):
            tokens = passage.tokens
            found.append(ExactMatch(_length(context, tokens, position), rank, tokens, position, passage))
    return found


def token_matches(index: ContextIndex, limit: int) -> list[ExactMatch]:
    """Of the last token alone, in the text itself: at most `limit`, the last position first."""
    context = index.tokens
    return [ExactMatch(1, rank, context, position, None) for rank, position in enumerate(index.singles(limit))]


def _length(context: Sequence[int], tokens: Sequence[int], position: int) -> int:
    """Tokens before `position` that agree with the end of `context`, at most MAX_MATCH; the first two are known to."""
    limit = min(MAX_MATCH, len(context), position)
    length = 2
    while length < limit and context[-1 - length] == tokens[position - 1 - length]:
        length += 1
    return length
