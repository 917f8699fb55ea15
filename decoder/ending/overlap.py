"""What already stands behind the cursor: on its line, and on the next one."""

from decoder.ending.lines_around import LinesAround
from decoder.ending.words import CLOSERS, OPENERS, branches

_QUOTES = "\"'`"
_LONGEST_OVERLAP = 200


def without_rest(line: str, rest: str) -> str:
    """Cuts a repetition of the rest of the cursor's line: from a quote on, or as far as it has come.

    Closers are another rule's.

    >>> without_rest("a + b", " + b"), without_rest("a + bc", " + b")
    ('a ', 'a + bc')
    """
    rest = rest.strip()
    if rest[0] in CLOSERS:
        return line
    if rest[0] in _QUOTES and line.count(rest[0]) % 2:
        return line[: line.rindex(rest[0])]
    for length in range(min(len(line), len(rest), _LONGEST_OVERLAP), 0, -1):
        begin = len(line) - length
        inside_name = begin > 0 and _is_word(rest[0]) and _is_word(line[begin - 1])
        if (length > 1 or length == len(rest)) and not inside_name and line.endswith(rest[:length]):
            return line[:begin]
    return line


def before_next_line(text: str, above: str, around: LinesAround) -> str:
    """The text up to its first whole line that is the next line of the document, indentation included.

    above: what the text's first line begins with.
    """
    lines = text.split("\n")
    compared = lines if above.strip() else [above + lines[0], *lines[1:]]
    for number, (line, following) in enumerate(zip(compared, [*compared[1:], ""], strict=True)):
        if (number or not above.strip()) and line.rstrip() == around.below and not _is_sibling(following, around):
            return "\n".join(lines[:number])
    return text


def _is_sibling(following: str, around: LinesAround) -> bool:
    """Whether the line that follows makes something new of a line that only begins something, such as `@Test`."""
    if branches(around.below.lstrip(" \t" + CLOSERS)):  # no construct has the same branch twice
        return False
    begins = around.below.endswith((*OPENERS, ",")) or around.below.lstrip().startswith(("@", "#["))
    return begins and bool(following.strip()) and not around.second.startswith(following.rstrip())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
