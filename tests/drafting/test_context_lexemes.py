from hypothesis import given
from hypothesis import strategies as st

from drafting.context_index import RECENT
from drafting.context_lexemes import ContextLexemes
from drafting.lexemes import Lexer

TEXTS = st.text(st.sampled_from('ab_1 .\n("é日🙂'), max_size=40)


def byte(token: int) -> bytes:
    return bytes((token,))


def followed(text: bytes) -> ContextLexemes:
    lexemes = ContextLexemes(byte)
    lexemes.follow(list(text))
    return lexemes


@given(st.lists(st.tuples(st.integers(0, 40), TEXTS), max_size=8))
def test_following_equals_reading_anew(changes: list[tuple[int, str]]) -> None:
    """Bytes are cut anywhere, also inside a character."""
    lexemes = ContextLexemes(byte)
    text = b""
    for kept, added in changes:
        kept = min(kept, len(text))
        by = lexemes if len(text) - kept <= RECENT else None
        text = text[:kept] + added.encode()
        lexemes.follow(list(text), by=by)
        anew = followed(text)
        assert (lexemes.texts, lexemes.gaps, lexemes.symbols) == (anew.texts, anew.gaps, anew.symbols)
        assert (lexemes.open, lexemes.whole) == (anew.open, anew.whole)
        symbols = lexemes.symbols
        ends = [end for end in range(len(symbols) - 1, 3, -1) if symbols[end - 4 : end] == symbols[-4:]]
        assert list(lexemes.positions(99)) == ends


def test_its_lexemes_are_those_of_the_text() -> None:
    text = "名前 = 'é🙂'\nx"
    lexer = Lexer(frozenset())
    lexer.feed(text)
    read = ContextLexemes(byte)
    data = text.encode()
    for end in range(1, len(data) + 1):
        read.follow(list(data[:end]), by=read)
    assert (read.texts, read.open) == (lexer.texts, lexer.open)


def test_it_tells_when_a_character_is_broken_off() -> None:
    emoji = "a🙂".encode()
    assert not followed(emoji[:3]).whole
    assert followed(emoji).whole
