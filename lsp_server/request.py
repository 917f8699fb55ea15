"""A document and a place in it become a `Complete`: how much text travels, and where it is cut."""

from collections.abc import Sequence

from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS, Complete, Trigger
from drafting.lines import split_lines
from lsp_server.documents import Document
from lsp_server.settings import Settings

_MIN_CUT_PREFIX = PREFIX_CHARACTERS * 3 // 4
"""A prefix that had to be cut keeps at least this much, where the lines allow it."""


_CANDIDATES: dict[Trigger, int] = {"automatic": 1, "invoked": 3, "warm_up": 1}
"""Who asks explicitly wants a choice."""


def completion_request(
    document: Document,
    place: tuple[int, int],
    settings: Settings,
    *,
    id: int,
    trigger: Trigger = "automatic",
    before: str = "",
    after: str = "",
) -> Complete:
    """Asks for the text at `place` (line, column in code points). The cost depends on the windows, not on the file.

    before, after: text around the document where it is a part of something larger, as a notebook's cell is; `before`
    ends with a line end, and `after` begins with one.
    The deadline is for each candidate: who asks for three waits for three.
    """
    line, column = place
    lines, offset = _surrounded(document.lines, before, after)
    candidates = _CANDIDATES[trigger]
    return Complete(
        id=id,
        document=document.uri,
        language=document.language_id,
        prefix=_prefix(lines, offset + line, column),
        suffix=_suffix(lines, offset + line, column),
        line=line,
        max_tokens=settings.max_tokens,
        multiline=settings.multiline,
        trigger=trigger,
        comments=settings.comments,
        candidates=candidates,
        deadline_ms=settings.deadline_ms * candidates,
    )


def _surrounded(lines: Sequence[str], before: str, after: str) -> tuple[Sequence[str], int]:
    """The lines of all three texts together, and how many come from `before`."""
    if not before and not after:
        return lines, 0
    above = split_lines(before)[:-1]
    return [*above, *lines[:-1], *split_lines(lines[-1] + after)], len(above)


def _prefix(lines: Sequence[str], line: int, column: int) -> str:
    """Begins at the same place for many keystrokes: the decoder keeps its KV cache as long as it does."""
    if column > PREFIX_CHARACTERS:
        return lines[line][_roundest(column - PREFIX_CHARACTERS, column - _MIN_CUT_PREFIX) : column]
    first = latest = line
    size = column
    while first > 0 and size + len(lines[first - 1]) <= PREFIX_CHARACTERS:
        if size < _MIN_CUT_PREFIX:
            latest = first - 1
        first -= 1
        size += len(lines[first])
    if first > 0 and size >= _MIN_CUT_PREFIX:
        first = _roundest(first, latest)
    return "".join([*lines[first:line], lines[line][:column]])


def _suffix(lines: Sequence[str], line: int, column: int) -> str:
    """The rest of the line, and the lines below as far as they fit whole."""
    rest = lines[line][column : column + SUFFIX_CHARACTERS]
    size, end = len(rest), line + 1
    while end < len(lines) and size + len(lines[end]) <= SUFFIX_CHARACTERS:
        size += len(lines[end])
        end += 1
    return rest if len(lines[line]) - column > SUFFIX_CHARACTERS else "".join([rest, *lines[line + 1 : end]])


def _roundest(low: int, high: int) -> int:
    """The number in [low, high] that is divisible by the highest power of two; low >= 1.

    While both ends creep upwards it stays for about as long as the interval is wide.

    >>> [_roundest(low, low + 9) for low in (7, 8, 9, 15, 16, 17, 18)]
    [16, 16, 16, 16, 16, 24, 24]
    """
    step = ((low - 1) ^ high).bit_length() - 1
    return high >> step << step
