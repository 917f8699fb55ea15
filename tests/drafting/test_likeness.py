"""What a match's place has in common with the cursor's: file type, node and enclosing construct."""

import pytest

from drafting.corpus import Corpus
from drafting.likeness import LIKE, OTHER_LANGUAGE, PARTLY, UNKNOWN, UNLIKE, WINDOW, Cursor
from drafting.lines import split_lines
from drafting.passage import Passage
from drafting.syntax import Syntax

BUFFER = "def area(width):\n    return width\n"
SYNTAX = Syntax()


def encode(text: str) -> list[int]:
    return list(text.encode())


def token_bytes(token: int) -> bytes:
    return bytes((token,))


def cursor(language: str = "python") -> Cursor:
    return Cursor(language, SYNTAX.grammar(language), token_bytes)


def passage(language: str = "python") -> Passage:
    corpus = Corpus(encode, token_bytes, syntax=SYNTAX)
    corpus.open("a", split_lines(BUFFER), language=language)
    found = corpus.passage(corpus.run_at("a", 0) or 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def volume(depth):\n    return depth", LIKE),
        ("class Box:\n    def volume(self):\n        return depth", PARTLY),
        ("def volume(depth):\n    total = depth", PARTLY),
        ("class Box:\n    name = depth", UNLIKE),
    ],
)
def test_in_the_return_statement_of_a_function(text: str, expected: int) -> None:
    assert cursor().likeness(encode(text), passage(), BUFFER.rindex("width") + 5) == expected


def test_another_file_type_is_told_whatever_its_syntax() -> None:
    assert cursor("go").likeness(encode("x"), passage(), 3) == OTHER_LANGUAGE


def test_without_a_grammar_nothing_is_known() -> None:
    assert cursor("plaintext").likeness(encode("x"), passage("plaintext"), 3) == UNKNOWN
    assert cursor().likeness(encode("x"), passage(), 0) == UNKNOWN


def test_an_empty_text_and_broken_code_are_no_trouble() -> None:
    for text in ("", "\ufffd", "def (((", "\n" * 10):
        assert cursor().likeness(encode(text), passage(), 5) in (UNLIKE, PARTLY, LIKE)


def test_only_the_end_of_a_long_text_is_parsed() -> None:
    text = encode("class Box:\n    x = " + "y" * 10 * WINDOW)
    whole, end = (cursor().likeness(tokens, passage(), 5) for tokens in (text, text[-WINDOW:]))
    assert whole == end
