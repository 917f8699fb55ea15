"""Which part of the text before the cursor the target reads."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_HEAD_CHARACTERS = 240
_FRESH_SHARE = 0.6
"""A new window fills this share of its room, so that it need not move again for a while."""

_CHARACTERS_PER_UNIT = 16
"""So much of the text is looked at for each unit there is room for."""

_TOP_LEVEL_LINE = re.compile(r"^(?=[^\s)\]}])", re.MULTILINE)
_LINE_START = re.compile(r"^", re.MULTILINE)

_Unit = TypeVar("_Unit")


@dataclass(frozen=True, slots=True)
class Window(Generic[_Unit]):
    """The end of a text, from a line at the left margin on where there is one.

    units: tokens, or characters. begin: how many characters of the text come before it. head: those it begins with,
    to be known by; empty at the text's own beginning.
    """

    units: Sequence[_Unit]
    begin: int = 0
    head: str = ""

    @staticmethod
    def kept(
        text: str, begin: int, head: str, encode: Callable[[str], Sequence[_Unit]], room: int
    ) -> "Window[_Unit] | None":
        """The window that began so, if it is still there and fits. Its start stays where it was from key to key."""
        end, num_skipped = _end(text, room)
        found = _find(end, begin - num_skipped, head) if begin or num_skipped else 0
        units = encode(end[found:]) if found >= 0 else ()
        return _window(end, found, num_skipped, units) if found >= 0 and len(units) <= room else None

    @staticmethod
    def fresh(text: str, encode: Callable[[str], Sequence[_Unit]], room: int) -> "Window[_Unit]":
        """The whole text if it fits, else a part of it that leaves room to type."""
        end, num_skipped = _end(text, room)
        begin = max(0, len(end) - room * 4)
        units = encode(end[begin:])
        if begin + num_skipped == 0 and len(units) <= room:
            return Window(units)
        characters_per_unit = (len(end) - begin) / max(1, len(units))
        share = _FRESH_SHARE
        while True:
            begin = _cut(end, len(end) - int(share * room * characters_per_unit))
            units = encode(end[begin:])
            if len(units) <= room:
                return _window(end, begin, num_skipped, units)
            share /= 2


def _end(text: str, room: int) -> tuple[str, int]:
    """The part of the text that is looked at, and how many characters come before it."""
    end = text[-room * _CHARACTERS_PER_UNIT :] if room else ""
    return end, len(text) - len(end)


def _window(end: str, begin: int, num_skipped: int, units: Sequence[_Unit]) -> Window[_Unit]:
    """What is being typed at the end of a short window is no part of its head."""
    if begin + num_skipped == 0:
        return Window(units)
    head = end[begin : begin + min(_HEAD_CHARACTERS, (len(end) - begin) // 2)]
    return Window(units, begin + num_skipped, head)


def _find(end: str, begin: int, head: str) -> int:
    """Where the head stands now, or -1: in its old place, else, if it is long enough to be known by, anywhere."""
    if head and begin >= 0 and end.startswith(head, begin):
        return begin
    return end.find(head) if len(head) == _HEAD_CHARACTERS else -1


def _cut(text: str, wanted: int) -> int:
    """The first top-level line from `wanted` on, else the first line, both within half of what is left; else there."""
    wanted = max(0, wanted)
    if wanted == 0:
        return 0
    limit = wanted + (len(text) - wanted) // 2
    for pattern in (_TOP_LEVEL_LINE, _LINE_START):
        found = pattern.search(text, wanted, limit)
        if found and found.start() > wanted:
            return found.start()
    return wanted
