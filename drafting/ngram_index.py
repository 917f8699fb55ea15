"""Where each pair of tokens stands in a changing set of token sequences."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

Pair = tuple[int, int]


class NgramIndex:
    """Sequences by number, searchable by pairs of adjacent tokens; later sequences are found first.

    Adding and removing cost time proportional to the sequence, searching only to the candidates looked at.
    """

    def __init__(self) -> None:
        self._sequences: dict[int, Sequence[int]] = {}
        self._positions: dict[Pair, dict[int, list[int]]] = {}
        self._next_number = 0
        self.num_tokens = 0

    def add(self, tokens: Sequence[int]) -> int:
        """Adds a sequence as the most recent one and returns its number."""
        number, self._next_number = self._next_number, self._next_number + 1
        self._sequences[number] = tokens
        self.num_tokens += len(tokens)
        for position, pair in enumerate(pairwise(tokens), start=2):
            self._positions.setdefault(pair, {}).setdefault(number, []).append(position)
        return number

    def remove(self, number: int) -> None:
        """Forgets a sequence; nothing of it is found any more."""
        tokens = self._sequences.pop(number)
        self.num_tokens -= len(tokens)
        for pair in set(pairwise(tokens)):
            numbers = self._positions[pair]
            del numbers[number]
            if not numbers:
                del self._positions[pair]

    def candidates(
        self, pair: Pair, limit: int, *, excluded: int | None = None
    ) -> Iterator[tuple[int, Sequence[int], int]]:
        """At most `limit` (number, sequence, position after `pair`), most recent sequence and last position first.

        The sequence numbered `excluded` is passed over and does not use up the limit.
        """
        numbers = self._positions.get(pair, {})
        found = (
            (number, self._sequences[number], position)
            for number in reversed(numbers)
            if number != excluded
            for position in reversed(numbers[number])
        )
        return islice(found, limit)
