"""Blanks at the beginning of what was written: only those that the line has already may go, and nothing is rounded."""

import re
from collections.abc import Set

from decoder.ending.words import OPENERS

_TAB = 4
CONTINUED = (*OPENERS, ",", "\\", *"+-*/=|&")
"""After a line that ends so, a line may be indented further."""

_BRACELESS = re.compile(r"(?:\} *)?(?:else|(?:else )?(?:if|for|foreach|while)\b.*\))")
"""A line of C and its kin whose body is the next one."""

_OPENING_SIGNS = "_\"'`@$([{"


def width(line: str) -> int:
    """Columns of indentation, a tab counting as four.

    >>> width("\\t  x"), width("")
    (6, 0)
    """
    line = line.expandtabs(_TAB)
    return len(line) - len(line.lstrip())


def without_stray_blanks(text: str, above: str, previous: str, levels: Set[int] = frozenset()) -> str:
    """The text without blanks at its beginning that the cursor's line has already.

    Nothing is left of a text that would be indented as no line near it is.
    above: the cursor's line up to the cursor. previous: the line with text before it. levels: columns by
    which lines near it are indented.

    >>> without_stray_blanks(" compute()", above="value = ", previous="")
    'compute()'
    >>> without_stray_blanks(" return 1", above="    ", previous="def f():")
    'return 1'
    >>> without_stray_blanks(" = 1", above="b ", previous="aa = 2")
    ' = 1'
    """
    first = text.partition("\n")[0]
    bare = first.lstrip(" \t")
    if first == bare or not _begins_something(bare) or not above.endswith((" ", "\t")):
        return text
    column = len((above + first).expandtabs(_TAB)) - len(bare.expandtabs(_TAB))
    if _begins_word(previous.expandtabs(_TAB), column):
        return text
    if above.strip():
        return text[1:] if len(first) == len(bare) + 1 else text
    margin = width(above + "x")
    if is_level(column, margin, previous, levels):
        return text
    return text[len(first) - len(bare) :] if column - margin in (1, margin) else ""


def is_level(column: int, margin: int, previous: str, levels: Set[int]) -> bool:
    """Whether a line at `margin` may well go on to `column`: to an outer level, or into what the line before opens."""
    if column <= width(previous):
        return column in levels
    if not previous.rstrip().endswith(CONTINUED) and not _BRACELESS.fullmatch(previous.strip()):
        return False
    return margin <= width(previous) or (column in levels and margin not in levels)


def _begins_something(bare: str) -> bool:
    """Not so a comment, an operator or a dot: such a line may hang anywhere."""
    return bare[:1].isalnum() or bare[:1] in tuple(_OPENING_SIGNS)


def _begins_word(line: str, column: int) -> bool:
    """Whether a word or an argument of `line` begins at this column: what stands below it may be aligned with it."""
    return 0 < column < len(line) and not line[column].isspace() and line[column - 1] in " ([{"
