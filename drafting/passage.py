"""A piece of an open buffer, as lookup drafting sees it: model tokens, and lexemes with their names abstracted."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

NAME, NUMBER, NEWLINE = 1, 2, 3
"""Symbols of abstracted lexemes; every keyword and punctuation mark has a symbol of its own, from 4 on."""


@dataclass(frozen=True, slots=True)
class Lexemes:
    """A text cut into names, numbers, keywords, punctuation marks and line starts.

    texts: what is written, a line start as its line feed and indentation; gaps: the blanks before each. Equal texts are
        one object (`sys.intern`).
    symbols: 16 bits each; equal for all names, for all numbers, and for all line starts.
    """

    texts: Sequence[str]
    gaps: Sequence[str]
    symbols: "array[int]"

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class Passage:
    """One top-level syntax node of a buffer, or a run of its lines.

    construct: kind of the syntax node, "" without a grammar.
    kinds: for each token the kind of the syntax node it begins in, as `Syntax` numbers them (0: unknown).
    distances: for each token how many tokens its statement still has, itself included, at most 255 (0: unknown).
    """

    document: str
    language: str
    tokens: "array[int]"
    lexemes: Lexemes
    construct: str = ""
    kinds: bytes = b""
    distances: bytes = b""
