"""Cuts a text into lexemes, at once or as it is written; knows no grammar, only the keywords it is told."""

import re
from array import array
from functools import lru_cache
from itertools import count
from sys import intern

from drafting.passage import NAME, NEWLINE, NUMBER, Lexemes

_LEXEME = re.compile(r"([^\S\n]*)(?:([^\W\d]\w*)|(\d\w*)|(\n[ \t]*)|([^\w\s])|\Z)")
"""Blanks at the end match as well, all at once: else every one of them would be tried as their beginning."""

_BLANKS_GROUP, _NAME_GROUP, _NUMBER_GROUP, _NEWLINE_GROUP, _MARK_GROUP = 1, 2, 3, 4, 5
_LARGEST_SYMBOL = 0xFFFF

_numbers = count(NEWLINE + 1)
_symbols: dict[str, int] = {}


class Lexer:
    """Lexemes of a growing text: the same however the text was cut into pieces.

    open: the end of the text that may still become another lexeme: blanks, and a word or a line start behind them.
    """

    def __init__(self, keywords: frozenset[str]) -> None:
        self.texts: list[str] = []
        self.gaps: list[str] = []
        self.symbols: list[int] = []
        self.open = ""
        self._symbol_of = _keyword_symbols(keywords)

    def feed(self, piece: str, *, final: bool = False) -> None:
        """Appends `piece`; after a `final` one a word at the end is complete."""
        text = self.open + piece
        end = 0
        for match in _LEXEME.finditer(text):
            group = match.lastindex
            if group == _BLANKS_GROUP or (match.end() == len(text) and group != _MARK_GROUP and not final):
                break
            gap, written = match[1], match[group or 0]
            if group == _NAME_GROUP:
                symbol = self._symbol_of.get(written, NAME)
            elif group == _MARK_GROUP:
                symbol = _symbols.get(written) or _symbol(written)
            else:
                symbol = NUMBER if group == _NUMBER_GROUP else NEWLINE
            self.texts.append(intern(written))
            self.gaps.append(intern(gap))
            self.symbols.append(symbol)
            end = match.end()
        self.open = text[end:]

    def cut(self, length: int, open_: str) -> None:
        """Back to the first `length` lexemes, followed by what was open then."""
        del self.texts[length:], self.gaps[length:], self.symbols[length:]
        self.open = open_


def lex(text: str, keywords: frozenset[str]) -> Lexemes:
    """The lexemes of a whole text; blanks at its end belong to none. Strings and comments are cut into words as well.

    >>> lexemes = lex('set(width,\\n    "née") # 4px', frozenset({"set"}))
    >>> lexemes.texts
    ['set', '(', 'width', ',', '\\n    ', '"', 'née', '"', ')', '#', '4px']
    >>> lexemes.gaps[-2:], lexemes.symbols[2] == lexemes.symbols[6] == NAME, lexemes.symbols[0] == NAME
    ([' ', ' '], True, False)
    """
    lexer = Lexer(keywords)
    lexer.feed(text, final=True)
    return Lexemes(lexer.texts, lexer.gaps, array("H", lexer.symbols))


@lru_cache
def _keyword_symbols(keywords: frozenset[str]) -> dict[str, int]:
    return {intern(keyword): _symbol(keyword) for keyword in sorted(keywords)}


def _symbol(text: str) -> int:
    """The number of a keyword or mark, one for the whole process; the 65,000th and all after it share one."""
    return _symbols.setdefault(text, min(next(_numbers), _LARGEST_SYMBOL))
