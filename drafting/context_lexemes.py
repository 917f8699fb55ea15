"""The lexemes of the sequence being written, and where the last four symbols stood before."""

import codecs
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from drafting.context_index import ContextIndex
from drafting.lexemes import Lexer

KEY_LENGTH = 4
MAX_NAMES = 256
"""So many lexemes back a name in the making is looked for."""

_CHUNK = 64
_MASK = (1 << 16 * KEY_LENGTH) - 1


class ContextLexemes:
    """Following a changed sequence costs what changed, and at most 64 tokens before it.

    index: its tokens. Whoever makes that follow a sequence must do so here.
    texts, gaps, symbols: as `Lexemes`; the complete lexemes.
    open: what is written behind them: blanks, and the beginning of a word or a line.
    whole: False where the tokens end inside a character.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], keywords: frozenset[str] = frozenset()) -> None:
        self.index = ContextIndex()
        self._token_bytes = token_bytes
        self._lexer = Lexer(keywords)
        self.texts: Sequence[str] = self._lexer.texts
        self.gaps: Sequence[str] = self._lexer.gaps
        self.symbols: Sequence[int] = self._lexer.symbols
        self._pending = b""
        self._asked = (0, "")
        self._newest = ""
        self._keys: list[int] = []
        self._positions: dict[int, list[int]] = {}
        self._marks: list[tuple[int, int, str, bytes]] = []
        """(number of tokens, number of lexemes, open, pending) as they were."""

    @property
    def open(self) -> str:
        return self._lexer.open

    @property
    def whole(self) -> bool:
        return not self._pending

    def follow(self, tokens: Sequence[int], *, by: object = None) -> None:
        """As `ContextIndex.follow`."""
        start = self._back_to(self.index.follow(tokens, by=by))
        self._asked = (0, "")
        for first in range(start, len(tokens), _CHUNK):
            self._feed(tokens[first : first + _CHUNK])
            self._marks.append((min(first + _CHUNK, len(tokens)), len(self.texts), self.open, self._pending))

    def positions(self, limit: int) -> Iterator[int]:
        """At most `limit` positions after an earlier occurrence of the last KEY_LENGTH symbols, latest first."""
        if len(self._keys) < KEY_LENGTH:
            return iter(())
        return islice(reversed(self._positions[self._keys[-1]]), 1, limit + 1)

    def newest_name(self, begun: str) -> str:
        """The last word of MAX_NAMES lexemes that begins so; else `begun` itself."""
        asked = (len(self.texts), begun)
        if asked != self._asked:
            recent = reversed(self.texts[-MAX_NAMES:])
            self._asked, self._newest = asked, next((name for name in recent if name.startswith(begun)), begun)
        return self._newest

    def _feed(self, tokens: Sequence[int]) -> None:
        data = self._pending + b"".join(map(self._token_bytes, tokens))
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data)
        self._pending = decoder.getstate()[0]
        self._lexer.feed(text)
        keys = self._keys
        key = keys[-1] if keys else 0
        for position in range(len(keys), len(self.symbols)):
            key = (key << 16 | self.symbols[position]) & _MASK
            keys.append(key)
            if position >= KEY_LENGTH - 1:
                self._positions.setdefault(key, []).append(position + 1)

    def _back_to(self, kept: int) -> int:
        """Forgets what came after the last mark within the first `kept` tokens; returns where that stands."""
        marks = self._marks
        if marks and marks[-1][0] <= kept:
            return marks[-1][0]
        while marks and marks[-1][0] > kept:
            marks.pop()
        num_tokens, num_lexemes, open_, self._pending = marks[-1] if marks else (0, 0, "", b"")
        while len(self._keys) > num_lexemes:
            key = self._keys.pop()
            if len(self._keys) >= KEY_LENGTH - 1:
                found = self._positions[key]
                found.pop()
                if not found:
                    del self._positions[key]
        self._lexer.cut(num_lexemes, open_)
        return num_tokens
