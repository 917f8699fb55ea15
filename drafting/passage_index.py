"""Passages, searchable by two tokens or by four symbols of lexemes."""

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from drafting.linked_index import LinkedIndex
from drafting.passage import Passage

LOOKED_AT = 2
"""Occurrences looked at for each one wanted, the latest first: bounds the time of a search, and how far one in
a buffer that was edited since may come forward."""

Symbols = tuple[int, int, int, int]


class Owner(Protocol):
    """The document that a passage belongs to."""

    edited: int
    """Grows with every edit, over all documents: passages of the one edited last are found first."""


class PassageIndex:
    """Passages by number. All methods may be called from any thread; none holds the lock for more than one passage."""

    def __init__(self) -> None:
        self._exact, self._renamed = LinkedIndex(), LinkedIndex()
        self._passages: dict[int, tuple[Passage, Owner]] = {}
        self._last_number = 0
        self._lock = threading.Lock()
        self.num_tokens = 0

    def add(self, passage: Passage, owner: Owner) -> int:
        """Adds a passage as the most recent one and returns its number, larger than all before."""
        pairs, windows = _pairs(passage.tokens), _windows(passage.lexemes.symbols)
        with self._lock:
            self._last_number += 1
            self._passages[self._last_number] = (passage, owner)
            self._exact.add(self._last_number, pairs)
            self._renamed.add(self._last_number, windows)
            self.num_tokens += len(passage.tokens)
            return self._last_number

    def remove(self, number: int) -> None:
        """Forgets a passage; nothing of it is found any more."""
        passage, _ = self._passages[number]
        pairs, windows = _pairs(passage.tokens), _windows(passage.lexemes.symbols)
        with self._lock:
            del self._passages[number]
            self._exact.remove(number, pairs)
            self._renamed.remove(number, windows)
            self.num_tokens -= len(passage.tokens)

    def passage(self, number: int) -> Passage | None:
        """The passage of a number, None if it is gone."""
        found = self._passages.get(number)
        return found[0] if found else None

    def exact(self, pair: tuple[int, int], limit: int, excluded: int | None) -> list[tuple[Passage, int]]:
        """Where two tokens stand side by side and something follows: passages, and token positions after the pair."""
        return self._search(self._exact, _key(pair, 32), len(pair), limit, excluded)

    def renamed(self, symbols: Symbols, limit: int, excluded: int | None) -> list[tuple[Passage, int]]:
        """Where four symbols stand in a row and something follows: passages, and lexeme positions after them."""
        return self._search(self._renamed, _key(symbols, 16), len(symbols), limit, excluded)

    def _search(
        self, index: LinkedIndex, key: int, width: int, limit: int, excluded: int | None
    ) -> list[tuple[Passage, int]]:
        passages = self._passages
        with self._lock:
            latest = index.latest(key, LOOKED_AT * limit, excluded)
            found = [(passages[number], start + width) for number, start in latest]
        found.sort(key=_last_edited_first)  # stable: what was added last stays first
        return [(passage, position) for (passage, _), position in found[:limit]]


def _last_edited_first(found: tuple[tuple[Passage, Owner], int]) -> int:
    return -found[0][1].edited


def _key(values: Sequence[int], bits: int) -> int:
    """Values of at most `bits` bits as one integer."""
    key = 0
    for value in values:
        key = key << bits | value
    return key


def _pairs(tokens: Sequence[int]) -> list[int]:
    """Keys of all pairs of tokens but the last one, which nothing follows."""
    return [first << 32 | second for first, second in pairwise(tokens[:-1])]


def _windows(symbols: Sequence[int]) -> list[int]:
    """Keys of all windows of four symbols but the last one."""
    return list(_rolling(symbols[:-1]))


def _rolling(symbols: Sequence[int]) -> Iterator[int]:
    key = 0
    for count, symbol in enumerate(symbols, start=1):
        key = (key << 16 | symbol) & 0xFFFF_FFFF_FFFF_FFFF
        if count >= 4:
            yield key
