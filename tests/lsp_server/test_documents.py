"""The mirror is what the editor has, in every encoding and after every edit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range, TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument

from drafting.lines import replace_lines, split_lines
from lsp_server.documents import Change, Document, Encoding

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")

_texts = st.text(alphabet="ab \n\r\té漢😀\u2028\x0c\x85", max_size=24)
_positions = st.builds(Position, st.integers(0, 8), st.integers(0, 24))
_edits = st.builds(
    TextDocumentContentChangePartial,
    st.builds(Range, st.builds(Position, st.integers(0, 8), st.integers(0, 24)), _positions),
    _texts,
)
_changes = st.one_of(_edits, _edits, _edits, st.builds(TextDocumentContentChangeWholeDocument, _texts))


def num_units(char: str, encoding: Encoding) -> int:
    return {"utf-8": len(char.encode()), "utf-16": len(char.encode("utf-16-le")) // 2, "utf-32": 1}[encoding]


def naive_offset(text: str, position: Position, encoding: Encoding) -> int:
    """Walks over the whole text, character by character."""
    offset = line = 0
    while line < position.line:
        while offset < len(text) and text[offset] not in "\r\n":
            offset += 1
        if offset == len(text):
            return offset
        offset += 2 if text.startswith("\r\n", offset) else 1
        line += 1
    units = 0
    while offset < len(text) and text[offset] not in "\r\n":
        units += num_units(text[offset], encoding)
        if units > position.character:
            break
        offset += 1
    return offset


def naive_apply(text: str, change: Change, encoding: Encoding) -> str:
    if isinstance(change, TextDocumentContentChangeWholeDocument):
        return change.text
    start = naive_offset(text, change.range.start, encoding)
    end = max(start, naive_offset(text, change.range.end, encoding))
    return text[:start] + change.text + text[end:]


def document(text: str, encoding: Encoding = "utf-16") -> Document:
    return Document("file:///a", "python", 1, text, encoding=encoding)


def insertion(line: int, character: int, text: str) -> TextDocumentContentChangePartial:
    position = Position(line, character)
    return TextDocumentContentChangePartial(Range(position, position), text)


@given(_texts, st.lists(_changes, max_size=6), st.sampled_from(ENCODINGS))
def test_after_any_edits_the_mirror_equals_a_naive_model(text: str, changes: list[Change], encoding: Encoding) -> None:
    mirror, theirs = document(text, encoding), split_lines(text)
    for version, change in enumerate(changes, 2):
        (edit,) = mirror.apply([change], version)
        text = naive_apply(text, change, encoding)
        replace_lines(theirs, (edit.start_line, edit.start_column), (edit.end_line, edit.end_column), edit.text)
        assert mirror.text == text
        assert mirror.lines == split_lines(text)
        assert theirs == mirror.lines, "the edit for the decoder does the same to its copy"
        assert mirror.version == version


@given(_texts, _positions, st.sampled_from(ENCODINGS))
def test_any_position_is_found_and_given_back(text: str, position: Position, encoding: Encoding) -> None:
    mirror = document(text, encoding)
    line, column = mirror.locate(position)
    assert len("".join(mirror.lines[:line])) + column == naive_offset(text, position, encoding)
    again = mirror.position(line, column)
    assert again.line <= position.line
    assert mirror.locate(again) == (line, column)


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 8), ("utf-16", 4), ("utf-32", 3)])
def test_the_end_of_a_line_with_wide_characters(encoding: Encoding, character: int) -> None:
    mirror = document("漢a😀\n", encoding)
    assert mirror.locate(Position(0, character)) == (0, 3)
    assert mirror.position(0, 3) == Position(0, character)


@pytest.mark.parametrize(("encoding", "inside"), [("utf-8", (2, 3, 4)), ("utf-16", (2,))])
def test_a_position_inside_a_character_is_its_start(encoding: Encoding, inside: tuple[int, ...]) -> None:
    mirror = document("a😀b", encoding)
    for character in inside:
        assert mirror.locate(Position(0, character)) == (0, 1)


def test_a_position_never_falls_between_cr_and_lf_or_behind_the_text() -> None:
    mirror = document("ab\r\ncd")
    assert mirror.locate(Position(0, 99)) == (0, 2)
    assert mirror.locate(Position(99, 0)) == (1, 2)


def test_a_range_that_ends_before_it_starts_is_empty() -> None:
    mirror = document("abc")
    mirror.apply([TextDocumentContentChangePartial(Range(Position(0, 2), Position(0, 1)), "X")], 2)
    assert mirror.text == "abXc"


def test_changes_of_one_notification_apply_one_after_the_other() -> None:
    mirror = document("ab")
    mirror.apply([insertion(0, 2, "\n"), insertion(1, 0, "c")], 2)
    assert mirror.text == "ab\nc"


def test_half_a_surrogate_pair_becomes_something_utf8_can_say() -> None:
    mirror = document("a\ud83db")
    mirror.apply([insertion(0, 3, "\ude00")], 2)
    mirror.text.encode()
    assert mirror.locate(Position(0, 4)) == (0, 4), "as many units as the editor counts"


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("a\r\nb\r\n", ["\r\n", "\r\n", "\r\n"]),
        ("a\rb", ["\r", "\r"]),
        ("a", ["\n"]),
        ("a\nb\r\nc", ["\n", "\r\n", "\r\n"]),
    ],
)
def test_a_line_ends_as_it_does_or_as_its_neighbour(text: str, ends: list[str]) -> None:
    mirror = document(text)
    assert [mirror.line_end(line) for line in range(len(mirror.lines))] == ends
