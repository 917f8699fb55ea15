"""Text as lines by LSP's own rule: a line ends with LF, CRLF or CR, and with nothing else."""

import io


def to_lf(text: str) -> str:
    r"""The text with LF alone at its line ends.

    >>> to_lf("a\r\nb\rc")
    'a\nb\nc'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def split_lines(text: str) -> list[str]:
    r"""Lines with their ends. There is always a last line without an end, possibly empty.

    >>> split_lines("a\r\nb\rc\n")
    ['a\r\n', 'b\r', 'c\n', '']
    >>> split_lines("a\u2028b\x0cc")
    ['a\u2028b\x0cc']
    """
    lines = io.StringIO(text, newline="").readlines()
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


def replace_lines(lines: list[str], start: tuple[int, int], end: tuple[int, int], text: str) -> tuple[int, int, int]:
    r"""Replaces `start` up to `end` (line, column in code points) in place.

    Positions beyond a line's text or the last line are moved to the nearest valid one (LSP 3.18, Position).
    Returns (first, removed, inserted): lines[first : first + inserted] replaced `removed` lines.

    >>> lines = split_lines("one\ntwo\n")
    >>> replace_lines(lines, (0, 3), (1, 0), " and ")
    (0, 2, 1)
    >>> lines
    ['one and two\n', '']
    """
    first, start_column = clamp(lines, *start)
    last, end_column = max((first, start_column), clamp(lines, *end))
    head, tail = lines[first][:start_column], lines[last][end_column:]
    if not head and (text or tail).startswith("\n") and first > 0 and lines[first - 1].endswith("\r"):
        first -= 1  # the CR of the line above and this LF become one line end
        head = lines[first]
    new = split_lines(head + text + tail)
    if last + 1 < len(lines):
        new.pop()  # `tail` brought the line's end, what follows it is the next line
    removed = last - first + 1
    lines[first : last + 1] = new
    return first, removed, len(new)


def clamp(lines: list[str], line: int, column: int) -> tuple[int, int]:
    """The nearest valid position to (line, column): never past a line's end marker or the last line."""
    if line < 0:
        return 0, 0
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return line, min(max(column, 0), len(lines[line].rstrip("\r\n")))
