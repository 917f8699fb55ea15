"""A document and a place in it become a `Complete`: how much text travels, and where it is cut."""

from collections.abc import Sequence

from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS, Complete, Sampling, Trigger
from lsp_server.documents import Document
from lsp_server.settings import Settings

_MIN_CUT_PREFIX = PREFIX_CHARACTERS * 3 // 4
"""A prefix that had to be cut keeps at least this much, where the lines allow it."""


def completion_request(
    document: Document, place: tuple[int, int], settings: Settings, *, id: int, trigger: Trigger = "automatic"
) -> Complete:
    """Asks for the text at `place` (line, column in code points). The cost depends on the windows, not on the file."""
    line, column = place
    return Complete(
        id=id,
        document=document.uri,
        language=document.language_id,
        prefix=_prefix(document.lines, line, column),
        suffix=_suffix(document.lines, line, column),
        line=line,
        max_tokens=settings.max_tokens,
        multiline=settings.multiline,
        trigger=trigger,
        draft=settings.draft,
        gamma=settings.gamma,
        sampling=Sampling(temperature=settings.temperature),
    )


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
