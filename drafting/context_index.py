"""Where tokens and pairs of tokens stand in the sequence being written: grows and shrinks with it."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

from drafting.prefix_cache import common_prefix

Key = TypeVar("Key")

RECENT = 64
"""Within a request a text changes only in so many last tokens: a drafter takes back what was not accepted."""


class ContextIndex:
    """Tokens and pairs of adjacent tokens of one sequence; following a changed sequence costs only what changed."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._follower: object = None
        self._singles: dict[int, list[int]] = {}
        self._pairs: dict[tuple[int, int], list[int]] = {}

    def follow(self, tokens: Sequence[int], *, by: object = None) -> int:
        """Makes `tokens` the indexed sequence; returns how many of the tokens before were kept.

        by: who asks. If it asked last as well, it vouches that all but the last RECENT of those tokens have stayed.
        """
        is_same = by is not None and by is self._follower
        kept = common_end(self.tokens, tokens) if is_same else common_prefix(self.tokens, tokens)
        self._follower = by
        self._shrink(kept)
        for token in tokens[kept:]:
            self._append(token)
        return kept

    def pairs(self, limit: int) -> Iterator[int]:
        """At most `limit` positions after an earlier occurrence of the last two tokens, latest first."""
        tokens = self.tokens
        found = self._pairs.get((tokens[-2], tokens[-1]), []) if len(tokens) >= 2 else []
        return islice(reversed(found), 1, limit + 1)

    def singles(self, limit: int) -> Iterator[int]:
        """At most `limit` positions after an earlier occurrence of the last token, latest first."""
        found = self._singles.get(self.tokens[-1], []) if self.tokens else []
        return islice(reversed(found), 1, limit + 1)

    def _append(self, token: int) -> None:
        tokens = self.tokens
        tokens.append(token)
        position = len(tokens)
        self._singles.setdefault(token, []).append(position)
        if position >= 2:
            self._pairs.setdefault((tokens[-2], token), []).append(position)

    def _shrink(self, length: int) -> None:
        tokens = self.tokens
        while len(tokens) > length:
            _pop(self._singles, tokens[-1])
            if len(tokens) >= 2:
                _pop(self._pairs, (tokens[-2], tokens[-1]))
            tokens.pop()


def common_end(old: Sequence[int], new: Sequence[int]) -> int:
    """Length of the common prefix of two sequences that are known to agree but in the last RECENT tokens of `old`.

    >>> common_end([1, 2, 3, 4], [1, 2, 3, 9, 9])
    3
    """
    length = min(len(old), len(new))
    start = max(0, length - RECENT)
    if list(old[start:length]) == list(new[start:length]):
        return length
    return start + common_prefix(old[start:length], new[start:length])


def _pop(positions: dict[Key, list[int]], key: Key) -> None:
    found = positions[key]
    found.pop()
    if not found:
        del positions[key]
