"""Which documents are worth indexing: what is too large, binary or machine-made is left out, with a reason."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

MAX_BUFFER_CHARACTERS = 400_000
"""A longer buffer is not indexed: it is hardly written by hand, would crowd out the others, and
parsing it would take as long as a forward pass."""

LONG_LINE = 8_000
"""Characters of a line that nobody writes by hand; what it holds beyond them is not indexed anyway."""


@dataclass(frozen=True, slots=True)
class Census:
    """What decides about a document, kept up to date by adding and taking away lines.

    unreadable: NUL characters, and U+FFFD, which stands for bytes that are no text.
    in_long_lines: characters in lines longer than LONG_LINE.
    """

    characters: int = 0
    unreadable: int = 0
    nuls: int = 0
    in_long_lines: int = 0

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        r"""Counts `lines`.

        >>> Census.of(["a\0b\n"])
        Census(characters=4, unreadable=1, nuls=1, in_long_lines=0)
        """
        characters = unreadable = nuls = in_long_lines = 0
        for line in lines:
            characters += len(line)
            if not line.isascii():
                unreadable += line.count("\ufffd")
            if "\0" in line:
                nuls += line.count("\0")
            if len(line) > LONG_LINE:
                in_long_lines += len(line)
        return cls(characters, unreadable + nuls, nuls, in_long_lines)

    def __add__(self, other: "Census") -> "Census":
        return Census(
            self.characters + other.characters,
            self.unreadable + other.unreadable,
            self.nuls + other.nuls,
            self.in_long_lines + other.in_long_lines,
        )

    def __sub__(self, other: "Census") -> "Census":
        return Census(
            self.characters - other.characters,
            self.unreadable - other.unreadable,
            self.nuls - other.nuls,
            self.in_long_lines - other.in_long_lines,
        )

    @property
    def objection(self) -> str:
        """Why such a document is left out, "" where nothing speaks against it.

        >>> Census(characters=100, unreadable=50).objection
        'binary: 50 of 100 characters are no text'
        """
        if self.characters > MAX_BUFFER_CHARACTERS:
            return f"too large: {self.characters:,} characters, the limit is {MAX_BUFFER_CHARACTERS:,}"
        if self.nuls or self.unreadable * 10 > self.characters:
            return f"binary: {self.unreadable:,} of {self.characters:,} characters are no text"
        if self.in_long_lines * 2 > self.characters:
            return (
                f"not written by hand: {self.in_long_lines:,} of {self.characters:,} characters are in enormous lines"
            )
        return ""
