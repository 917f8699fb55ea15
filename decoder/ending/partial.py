"""How much of a text that was broken off may be shown: whole lines of a block, whole words of a line."""

import re

from decoder.ending.words import OPENERS

_HALF = re.compile(r"(?:\d[\w.]*|\w+|[^\w\s(){}\[\]\"'`,;]+)$")
"""A name, a number or operators in the making: more of the same may follow."""

_HANGING = re.compile(r"[\s({\[\"'`]+$")


def whole_lines(text: str) -> int:
    r"""Length of the complete lines, if they have text; without openers at their end where something is left.

    >>> whole_lines("a = 1\nfor x in a:\n    b"), whole_lines("a = 1"), whole_lines("if a:\n    b")
    (5, 0, 5)
    """
    lines = text.split("\n")[:-1]
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].rstrip().endswith(OPENERS)):
        if not any(line.strip() for line in lines[:-1]):
            break
        lines.pop()
    kept = "\n".join(lines)
    return len(kept) if kept.strip() else 0


def whole_words(text: str) -> int:
    """Length up to the last complete word, without brackets and quotes that would be left open at its end.

    >>> whole_words("compute(a, b"), whole_words("x == "), whole_words("x ="), whole_words("print('"), whole_words("ab")
    (10, 4, 1, 5, 0)
    """
    kept = _HALF.sub("", text)
    kept = _HANGING.sub("", kept)
    return len(kept) if kept.strip() else 0
