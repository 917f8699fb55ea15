"""The decoder's copies of the clients' open documents, kept in step by edits, and handed on to whoever indexes them."""

from dataclasses import dataclass
from typing import Protocol

from decoder.wire.messages import BufferClosed, BufferEdited, BufferOpened
from drafting.lines import replace_lines, split_lines

BufferMessage = BufferOpened | BufferEdited | BufferClosed


class BufferIndex(Protocol):
    """What learns of the open documents (a `Corpus` on its own thread); calls return at once."""

    def open(self, document: str, lines: list[str]) -> None: ...

    def edit(self, document: str, first: int, num_removed: int, lines: list[str]) -> None: ...

    def close(self, document: str) -> None: ...


@dataclass(slots=True)
class _Copy:
    version: int
    lines: list[str]


class Buffers:
    """Open documents by name; the service puts the client into the name, for two windows may show one file."""

    def __init__(self) -> None:
        self._copies: dict[str, _Copy] = {}
        self._index: BufferIndex | None = None

    def attach(self, index: BufferIndex) -> None:
        """From now on `index` follows; it learns at once of what is open already."""
        self._index = index
        for document, copy in self._copies.items():
            index.open(document, list(copy.lines))

    def apply(self, message: BufferMessage) -> bool:
        """Follows a message; False where the full text is needed again, because `base_version` is not what we have."""
        match message:
            case BufferOpened():
                self._copies[message.document] = copy = _Copy(message.version, split_lines(message.text))
                if self._index:
                    self._index.open(message.document, list(copy.lines))
            case BufferClosed():
                self._close(message.document)
            case BufferEdited():
                return self._edit(message)
        return True

    def forget(self, owner: str) -> None:
        """Closes every document whose name starts with `owner`: its client has left."""
        for document in [name for name in self._copies if name.startswith(owner)]:
            self._close(document)

    def _edit(self, message: BufferEdited) -> bool:
        copy = self._copies.get(message.document)
        if copy is None or copy.version != message.base_version:
            self._close(message.document)  # rather nothing than text that no longer exists
            return False
        for edit in message.edits:
            start, end = (edit.start_line, edit.start_column), (edit.end_line, edit.end_column)
            first, num_removed, num_inserted = replace_lines(copy.lines, start, end, edit.text)
            if self._index:
                self._index.edit(message.document, first, num_removed, copy.lines[first : first + num_inserted])
        copy.version = message.version
        return True

    def _close(self, document: str) -> None:
        if self._copies.pop(document, None) is not None and self._index:
            self._index.close(document)
