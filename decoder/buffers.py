"""The decoder's copies of the clients' open documents, kept in step by edits, and handed on to whoever indexes them."""

from dataclasses import dataclass
from typing import Protocol

from decoder.wire.messages import BufferClosed, BufferEdited, BufferOpened
from drafting.lines import replace_lines, split_lines
from drafting.screening import MAX_BUFFER_CHARACTERS

BufferMessage = BufferOpened | BufferEdited | BufferClosed


class BufferIndex(Protocol):
    """What learns of the open documents (a `Corpus` on its own thread); calls return at once."""

    def open(self, document: str, lines: list[str], *, language: str) -> None: ...

    def edit(self, document: str, first: int, num_removed: int, lines: list[str]) -> None: ...

    def skip(self, document: str, reason: str) -> None: ...

    def close(self, document: str) -> None: ...


@dataclass(slots=True)
class _Copy:
    """lines: None for a text that is too large to be kept: only its version is followed, until it is opened again."""

    language: str
    version: int
    lines: list[str] | None


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """The beginning of an open document as it was when it was read; `lines` with their ends."""

    document: str
    language: str
    lines: list[str]


class Buffers:
    """Open documents by name; the service puts the client into the name, for two windows may show one file.

    Fed on the event loop; `beside` and `read` may be called from any thread.
    """

    def __init__(self) -> None:
        self._copies: dict[str, _Copy] = {}
        self._index: BufferIndex | None = None

    def attach(self, index: BufferIndex) -> None:
        """From now on `index` follows; it learns at once of what is open already."""
        self._index = index
        for document, copy in self._copies.items():
            self._announce(document, copy)

    def apply(self, message: BufferMessage) -> bool:
        """Follows a message; False where the full text is needed again, because `base_version` is not what we have."""
        match message:
            case BufferOpened():
                lines = split_lines(message.text) if len(message.text) <= MAX_BUFFER_CHARACTERS else None
                self._copies[message.document] = copy = _Copy(message.language, message.version, lines)
                self._announce(message.document, copy)
            case BufferClosed():
                self._close(message.document)
            case BufferEdited():
                return self._edit(message)
        return True

    def forget(self, owner: str) -> None:
        """Closes every document whose name starts with `owner`: its client has left."""
        for document in [name for name in self._copies if name.startswith(owner)]:
            self._close(document)

    def beside(self, document: str) -> tuple[str, ...]:
        """Names of what else its client has open, in order; without texts that are too large."""
        owner = document.partition(":")[0] + ":"
        copies = self._copies.copy()  # in one step, whatever the event loop does meanwhile
        return tuple(
            sorted(
                name
                for name, copy in copies.items()
                if name.startswith(owner) and name != document and copy.lines is not None
            )
        )

    def read(self, document: str, num_lines: int) -> OpenDocument | None:
        """A document's first lines as they are now; None if it has been closed meanwhile, or is too large."""
        copy = self._copies.get(document)
        lines = copy.lines if copy else None
        return OpenDocument(document, copy.language, lines[:num_lines]) if copy and lines is not None else None

    def _announce(self, document: str, copy: _Copy) -> None:
        if self._index is None:
            return
        if copy.lines is None:
            limit = f"more than {MAX_BUFFER_CHARACTERS:,} characters"
            self._index.skip(document, f"too large: {limit} when it was opened, or pasted")
        else:
            self._index.open(document, list(copy.lines), language=copy.language)

    def _edit(self, message: BufferEdited) -> bool:
        copy = self._copies.get(message.document)
        if copy is None or copy.version != message.base_version:
            self._close(message.document)  # rather nothing than text that no longer exists
            return False
        copy.version = message.version
        if copy.lines is not None and sum(len(edit.text) for edit in message.edits) > MAX_BUFFER_CHARACTERS:
            copy.lines = None
            self._announce(message.document, copy)
        if copy.lines is not None:
            self._replace(message, copy.lines)
        return True

    def _replace(self, message: BufferEdited, lines: list[str]) -> None:
        for edit in message.edits:
            start, end = (edit.start_line, edit.start_column), (edit.end_line, edit.end_column)
            first, num_removed, num_inserted = replace_lines(lines, start, end, edit.text)
            if self._index:
                self._index.edit(message.document, first, num_removed, lines[first : first + num_inserted])

    def _close(self, document: str) -> None:
        if self._copies.pop(document, None) is not None and self._index:
            self._index.close(document)
