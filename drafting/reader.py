"""Turns a run of lines into a passage."""

from array import array
from collections.abc import Callable, Sequence

from drafting.document import Document
from drafting.features import TokenShapes, features
from drafting.lexemes import lex
from drafting.passage import Lexemes, Passage
from drafting.screening import LONG_LINE
from drafting.syntax import Syntax
from drafting.syntax_tree import line_bytes

Encode = Callable[[str], Sequence[int]]


class Reader:
    """Tokens, lexemes and syntax features of a run."""

    def __init__(self, encode: Encode, token_bytes: Callable[[int], bytes] | None, syntax: Syntax) -> None:
        self._encode = encode
        self._shapes = TokenShapes(token_bytes) if token_bytes else None
        self._syntax = syntax

    def read(self, document: Document, row: int, num_lines: int, offset: int) -> Passage:
        """The passage of `num_lines` lines of a document, from `row` and byte `offset` on.

        What a line holds beyond LONG_LINE characters is left out. Raises whatever `encode` does.
        """
        lines = document.lines[row : row + num_lines]
        if num_lines == 1 and len(lines[0]) > LONG_LINE:
            lines = [lines[0][:LONG_LINE]]
        text = "".join(lines)
        tokens = array("I", self._encode(text))
        lexemes = lex(text, self._syntax.keywords(document.language))
        construct, kinds, distances = "", b"", b""
        if document.tree and self._shapes:
            size = sum(len(line_bytes(line)) for line in lines)
            construct = document.tree.construct(row, row + num_lines)
            kinds, distances = features(document.tree, offset, size, tokens, self._shapes)
        compact = Lexemes(tuple(lexemes.texts), tuple(lexemes.gaps), lexemes.symbols)
        return Passage(document.name, document.language, tokens, compact, construct, kinds, distances)
