"""Where each pair of tokens stands in the sequence being written: grows and shrinks with it."""

from collections.abc import Iterator, Sequence
from itertools import islice

from drafting.prefix_cache import common_prefix


class ContextIndex:
    """Pairs of adjacent tokens of one sequence; following a changed sequence costs only what changed."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._positions: dict[tuple[int, int], list[int]] = {}

    def follow(self, tokens: Sequence[int]) -> None:
        """Makes `tokens` the indexed sequence."""
        self._shrink(common_prefix(self.tokens, tokens))
        for token in tokens[len(self.tokens) :]:
            self.tokens.append(token)
            if len(self.tokens) >= 2:
                pair = (self.tokens[-2], token)
                self._positions.setdefault(pair, []).append(len(self.tokens))

    def candidates(self, limit: int) -> Iterator[int]:
        """At most `limit` positions after an earlier occurrence of the last two tokens, latest first."""
        found = self._positions.get((self.tokens[-2], self.tokens[-1]), []) if len(self.tokens) >= 2 else []
        return islice((position for position in reversed(found) if position < len(self.tokens)), limit)

    def _shrink(self, length: int) -> None:
        while len(self.tokens) > length:
            if len(self.tokens) >= 2:
                pair = (self.tokens[-2], self.tokens[-1])
                positions = self._positions[pair]
                positions.pop()
                if not positions:
                    del self._positions[pair]
            self.tokens.pop()
