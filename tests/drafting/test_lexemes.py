from hypothesis import given
from hypothesis import strategies as st

from drafting.lexemes import Lexer, lex
from drafting.passage import NAME, NEWLINE, NUMBER

TEXTS = st.text(st.sampled_from('ab_1 .\n\t("é日🙂\r\x0c'), max_size=60)


def written(text: str) -> str:
    lexemes = lex(text, frozenset())
    return "".join(gap + text for gap, text in zip(lexemes.gaps, lexemes.texts, strict=True))


@given(TEXTS)
def test_lexemes_spell_the_text_but_for_blanks_at_its_end(text: str) -> None:
    spelt = written(text)
    assert text.startswith(spelt)
    assert not text[len(spelt) :].strip(" \t\r\x0c")


@given(st.lists(TEXTS, max_size=8))
def test_a_text_has_the_same_lexemes_however_it_is_cut(pieces: list[str]) -> None:
    lexer = Lexer(frozenset({"ab"}))
    for piece in pieces:
        lexer.feed(piece)
    lexer.feed("", final=True)
    whole = lex("".join(pieces), frozenset({"ab"}))
    assert (lexer.texts, lexer.gaps, lexer.symbols) == (whole.texts, whole.gaps, list(whole.symbols))


def test_names_numbers_and_line_starts_are_abstracted_and_keywords_are_not() -> None:
    lexemes = lex('if width > 10:\n    "width"', frozenset({"if"}))
    assert list(lexemes.texts) == ["if", "width", ">", "10", ":", "\n    ", '"', "width", '"']
    symbols = list(lexemes.symbols)
    assert [symbols[1], symbols[3], symbols[5], symbols[7]] == [NAME, NUMBER, NEWLINE, NAME]
    assert symbols[6] == symbols[8]
    assert len({symbols[0], symbols[2], symbols[4], symbols[6], NAME, NUMBER, NEWLINE}) == 7


def test_equal_texts_are_one_object() -> None:
    first, second = lex("".join(["wid", "th"]), frozenset()), lex("".join(["widt", "h"]), frozenset())
    assert first.texts[0] is second.texts[0]


def test_a_word_at_the_end_stays_open_until_something_follows() -> None:
    lexer = Lexer(frozenset())
    lexer.feed("self.  he")
    assert (lexer.texts, lexer.open) == (["self", "."], "  he")
    lexer.feed("ight\n  ")
    assert (lexer.texts[-1], lexer.gaps[-1], lexer.open) == ("height", "  ", "\n  ")
