"""Repetition: a model that has begun to loop seldom finds out of it by itself."""

import re
from collections import deque
from functools import lru_cache

_MOST_LINES = 6
"""A loop of more lines than this is not looked for."""

_COPIES, _COPIES_OF_DATA = 3, 6
_RUN, _RUN_OF_SIGNS = 48, 160
"""So many characters of a repeated piece are a loop; rulers, tables and padding, without letters, may be longer."""

_MOST_CHARACTERS = 24
_REPEATED = re.compile(
    "|".join(
        rf"(?P<unit{size}>.{{{size}}})(?P=unit{size}){{{max(6, -(-_RUN // size)) - 1},}}"
        for size in range(1, _MOST_CHARACTERS + 1)
    )
)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|\\[xuU][0-9a-fA-F]+")


class LineLoops:
    """Watches the lines of one text as they come. Time and space a line are constant."""

    def __init__(self) -> None:
        self._latest: deque[str] = deque(maxlen=_MOST_LINES)
        self._num_lines = 0
        self._num_equal = [0] * (_MOST_LINES + 1)
        """By period: how many lines in a row were equal to the one that stands a period above."""

    def add(self, line: str) -> int | None:
        """The number of lines to keep, with one copy of what is repeated, as soon as it is a loop."""
        line = line.rstrip()
        kept = None
        for period in range(1, len(self._latest) + 1):
            equal = self._latest[-period] == line
            self._num_equal[period] = self._num_equal[period] + 1 if equal else 0
            copies = 1 + self._num_equal[period] // period
            if kept is None and copies >= self._allowed(line, period):
                kept = self._num_lines + 1 - self._num_equal[period]
        self._latest.append(line)
        self._num_lines += 1
        return kept

    def _allowed(self, line: str, period: int) -> int:
        lines = [line, *list(self._latest)[len(self._latest) - period + 1 :]]
        return _COPIES if any(map(is_statement, lines)) else _COPIES_OF_DATA


def is_statement(line: str) -> bool:
    """Whether a line says something that is seldom said twice: not a bracket, a row of data or a piece of markup.

    >>> [is_statement(line) for line in ("x = f(x)", "}", "[0, 0],", "False,", "<td></td>", '\"\"\"')]
    [True, False, False, False, False, False]
    """
    line = line.strip()
    return not line.endswith(",") and not line.startswith("<") and any(map(str.isalpha, line))


@lru_cache(maxsize=256)
def is_loop(line: str) -> bool:
    """Whether a short piece is repeated over and over within a line.

    >>> is_loop("ab" * 60), is_loop("ab" * 10), is_loop("# " + "-" * 78), is_loop("0x00, " * 16)
    (True, False, False, False)
    """
    if len(line) < _RUN:
        return False
    return any(len(run[0]) >= _RUN_OF_SIGNS or _says_something(run) for run in _REPEATED.finditer(line))


def _says_something(run: re.Match[str]) -> bool:
    """Whether letters are repeated that are not the `x` of numbers; a run may begin anywhere in its unit."""
    return not _NUMBER.search(run[0]) and any(map(str.isalpha, run[0]))
