"""Text mirrors of the open documents, with LSP's own line rule and the client's position encoding."""

import re
from collections.abc import Iterable
from typing import Literal

from lsprotocol.types import Position, TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument

from decoder.wire.messages import TextEdit
from drafting.lines import replace_lines, split_lines

Encoding = Literal["utf-8", "utf-16", "utf-32"]
Change = TextDocumentContentChangePartial | TextDocumentContentChangeWholeDocument

_HALF_PAIRS = re.compile(r"[\ud800-\udfff]")


class Document:
    """Mirror of one open document. Inside, columns are code points; the client's are units of `encoding`."""

    def __init__(self, uri: str, language_id: str, version: int, text: str, *, encoding: Encoding) -> None:
        self.uri = uri
        self.language_id = language_id
        self.version = version
        self.encoding: Encoding = encoding
        self.size = len(text)
        """Code points when the text last came as a whole."""
        self.lines = split_lines(_encodable(text))

    @property
    def text(self) -> str:
        """The whole text; costs a copy."""
        return "".join(self.lines)

    def apply(self, changes: Iterable[Change], version: int) -> tuple[TextEdit, ...]:
        """Applies the changes of one didChange in their order; returns them with columns in code points."""
        edits = tuple([self._apply(change) for change in changes])
        self.version = version
        return edits

    def locate(self, position: Position) -> tuple[int, int]:
        """Line and column in code points; what lies outside the text becomes the nearest place inside (LSP 3.18)."""
        if position.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        return position.line, self._column(self.lines[position.line], position.character)

    def position(self, line: int, column: int) -> Position:
        """The client's position of a line and a column in code points."""
        return Position(line, _num_units(self.lines[line][:column], self.encoding))

    def line_end(self, line: int) -> str:
        """How `line` ends; for the last line, how the one above ends; in a text of one line LF."""
        for index in (line, line - 1):
            if index >= 0 and (end := self.lines[index][_content_length(self.lines[index]) :]):
                return end
        return "\n"

    def _apply(self, change: Change) -> TextEdit:
        text = _encodable(change.text)
        if isinstance(change, TextDocumentContentChangeWholeDocument):
            edit = TextEdit(0, 0, len(self.lines) - 1, len(self.lines[-1]), text)
            self.lines, self.size = split_lines(text), len(text)
            return edit
        start = self.locate(change.range.start)
        end = start if change.range.end == change.range.start else max(start, self.locate(change.range.end))
        if not self._type_within_line(start, end, text):
            replace_lines(self.lines, start, end, text)
        return TextEdit(*start, *end, text)

    def _type_within_line(self, start: tuple[int, int], end: tuple[int, int], text: str) -> bool:
        """The usual keystroke, without a search for line ends: it counts where one line holds megabytes."""
        if start[0] != end[0] or not text or "\n" in text or "\r" in text:
            return False
        line = self.lines[start[0]]
        self.lines[start[0]] = line[: start[1]] + text + line[end[1] :]
        return True

    def _column(self, line: str, character: int) -> int:
        """A character beyond the line's content becomes its end, one inside a code point becomes its start."""
        length = _content_length(line)
        if self.encoding == "utf-32" or line.isascii():
            return min(character, length)
        head = line[: min(character, length)]  # as many code points as units at most
        if self.encoding == "utf-8":
            return len(head.encode()[:character].decode(errors="ignore"))
        units = head.encode("utf-16-le")
        return len(head) if len(units) == 2 * len(head) else len(units[: 2 * character].decode("utf-16-le", "ignore"))


def _content_length(line: str) -> int:
    if line.endswith("\r\n"):
        return len(line) - 2
    return len(line) - 1 if line.endswith(("\r", "\n")) else len(line)


def _num_units(text: str, encoding: Encoding) -> int:
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return len(text.encode()) if encoding == "utf-8" else len(text.encode("utf-16-le")) // 2


def _encodable(text: str) -> str:
    """JSON can carry half a surrogate pair, UTF-8 cannot. The replacement is as long in every encoding."""
    return text if text.isascii() else _HALF_PAIRS.sub("\ufffd", text)
