"""Exactly one closer: brackets that already stand after the cursor are not written again."""

import re
from collections import Counter

from decoder.ending.indentation import width
from decoder.ending.words import CLOSERS

_PIECE = re.compile(
    r"""
    "(?:\\.|[^"\\])*" | `[^`]*`      # a string is one piece, whatever brackets are in it
    | '(?:[a-z]|static)\b(?!')         # a lifetime is no string
    | '(?:\\.|[^'\\])*'
    | (?:\#|//)[ ].*                   # so is a comment
    | .""",
    re.VERBOSE,
)
_CLOSER_OF = {"(": ")", "[": "]", "{": "}"}


def without_closers(text: str, above: str, rest: str, below: str) -> str:
    """The text up to the first bracket that closes what a bracket after the cursor closes.

    above, rest: the cursor's line before and after the cursor. below: the next line with text; its brackets count
    where nothing is left of the cursor's line, and as closers of what is open there where it is not further indented.

    >>> without_closers("a, b(c));", above="call(", rest=");", below="")
    'a, b(c)'
    >>> without_closers("b)", above="    a, ", rest="", below=")")
    'b'
    >>> without_closers("x))", above="print(len(", rest=")", below="")
    'x)'
    """
    there = unmatched_closers(rest) if rest.strip() else _leading_closers(above, below)
    if not there:
        return text
    missing = unclosed_openers(above)
    if rest.strip() or width(below) == width(above + "x"):
        missing -= there
    own_margin = None if rest.strip() else width(below)
    shown = "" if above.strip() else above  # what the first line begins with
    return text[: _excess(shown + text, {closer: missing[closer] for closer in there}, own_margin) - len(shown)]


def unmatched_closers(line: str) -> Counter[str]:
    """Closers in a line that the line itself does not open."""
    depth: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for piece in _PIECE.findall(line):
        if piece in _CLOSER_OF:
            depth[_CLOSER_OF[piece]] += 1
        elif depth[piece]:
            depth[piece] -= 1
        elif piece in tuple(CLOSERS):
            found[piece] += 1
    return found


def _leading_closers(above: str, below: str) -> Counter[str]:
    """Those with which the next line begins, where it ends what the cursor's line is in."""
    if width(below) > width(above + "x"):
        return Counter()
    stripped = below.strip()
    return Counter(stripped[: len(stripped) - len(stripped.lstrip(CLOSERS))])


def unclosed_openers(line: str) -> Counter[str]:
    """How many brackets are left open, by the closers that they want.

    >>> unclosed_openers("f(a, {")
    Counter({')': 1, '}': 1})
    """
    depth: Counter[str] = Counter()
    for piece in _PIECE.findall(line):
        if piece in _CLOSER_OF:
            depth[_CLOSER_OF[piece]] += 1
        elif depth[piece]:
            depth[piece] -= 1
    return depth


def _excess(text: str, missing: dict[str, int], margin: int | None) -> int:
    """Where the first closer stands that nothing before it has opened; the text's length without one.

    missing: closers that the text may write without having opened them; others than these may always be.
    margin: lines that begin with a closer and are indented further than this close something else.
    """
    depth, begin = Counter(missing), 0
    for line in text.split("\n"):
        free = _num_leading_closers(line) if margin is not None and width(line) > margin else 0
        for piece in _PIECE.finditer(line):
            bracket = piece[0]
            if bracket in _CLOSER_OF:
                depth[_CLOSER_OF[bracket]] += 1
            elif depth[bracket]:
                depth[bracket] -= 1
            elif bracket in missing and piece.start() >= free:
                return begin + piece.start()
        begin += len(line) + 1
    return len(text)


def _num_leading_closers(line: str) -> int:
    """Characters up to the first that is neither blank nor a closer."""
    return len(line) - len(line.lstrip(" \t" + CLOSERS))
