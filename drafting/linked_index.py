"""Where each key stands in a changing set of sequences of keys, in few bytes per position."""

from array import array
from collections.abc import Sequence

_POSITION_BITS = 20
_POSITION = (1 << _POSITION_BITS) - 1
_NONE = -1


class LinkedIndex:
    """Sequences of keys by number, searchable by key; what was added last is found first.

    All occurrences of one key form a list with two directions, as in a hash table with chaining: adding and removing
    cost constant time per position, and searching only as much as the occurrences looked at. An occurrence is one
    integer, number << 20 | position.
    """

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._newer: dict[int, array[int]] = {}
        self._older: dict[int, array[int]] = {}

    def add(self, number: int, keys: Sequence[int]) -> None:
        """Adds the sequence `number`, which is new, with fewer than 2^20 keys, as the most recent one."""
        newest, newers, olders = self._newest, self._newer, self._older
        newers[number] = array("q", [_NONE]) * len(keys)
        olders[number] = older = array("q", [_NONE]) * len(keys)
        for location, key in enumerate(keys, start=number << _POSITION_BITS):
            previous = newest.get(key, _NONE)
            if previous != _NONE:
                newers[previous >> _POSITION_BITS][previous & _POSITION] = location
                older[location & _POSITION] = previous
            newest[key] = location

    def remove(self, number: int, keys: Sequence[int]) -> None:
        """Forgets the sequence `number`, which was added with `keys`; nothing of it is found any more."""
        newers, olders = self._newer, self._older
        for key, after, before in zip(keys, newers[number], olders[number], strict=True):
            if before != _NONE:
                newers[before >> _POSITION_BITS][before & _POSITION] = after
            if after != _NONE:
                olders[after >> _POSITION_BITS][after & _POSITION] = before
            elif before != _NONE:
                self._newest[key] = before
            else:
                del self._newest[key]
        del newers[number], olders[number]

    def latest(self, key: int, limit: int, excluded: int | None = None) -> list[tuple[int, int]]:
        """At most `limit` (number, position) of `key`, the latest first, none in the sequence numbered `excluded`."""
        found: list[tuple[int, int]] = []
        olders, location = self._older, self._newest.get(key, _NONE)
        while location != _NONE and len(found) < limit:
            number, position = location >> _POSITION_BITS, location & _POSITION
            if number != excluded:
                found.append((number, position))
            location = olders[number][position]
        return found
