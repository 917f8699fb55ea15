"""Where a suggestion goes, and from which entry of the editor's list it goes on."""

import pytest
from lsprotocol import types

from decoder.wire.messages import Answer, Complete, Shown
from lsp_server.documents import Document
from lsp_server.selection import Selection
from lsp_server.suggestion import Suggestion, draws_replaced, that_replace_nothing


def document(text: str) -> Document:
    return Document("file:///a.py", "python", 1, text, encoding="utf-16")


def selection(start: tuple[int, int], end: tuple[int, int]) -> Selection:
    """Of an entry over that range, with the cursor at (1, 4) of a small document."""
    info = types.SelectedCompletionInfo(types.Range(types.Position(*start), types.Position(*end)), "entry")
    context = types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic, info)
    params = types.InlineCompletionParams(context, types.TextDocumentIdentifier("file:///a.py"), types.Position(1, 4))
    return Selection.of(document("one\nx.fo\n"), (1, 4), params)


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        ((1, 2), (1, 4), Selection("entry", 2)),
        ((1, 4), (1, 4), Selection("entry", 0)),
        ((1, 2), (1, 3), Selection()),  # the cursor is elsewhere
        ((0, 2), (1, 4), Selection()),
        ((1, 4), (1, 2), Selection()),
    ],
)
def test_an_entry_counts_where_it_ends_at_the_cursor_on_its_line(
    start: tuple[int, int], end: tuple[int, int], found: Selection
) -> None:
    assert selection(start, end) == found


def test_the_decoder_is_asked_as_if_the_entry_were_taken() -> None:
    request = Complete(1, "file:///a.py", "python", "one\nx.fo", "\n")
    assert Selection("format", 2).taken(request).prefix == "one\nx.format"
    assert Selection("format", 0).taken(request).prefix == "one\nx.foformat"
    assert Selection().taken(request) == request


@pytest.mark.parametrize(
    ("entry", "replaces", "text", "start"),
    [
        (Selection(), 0, "text", 6),
        (Selection(), 2, "text", 4),
        (Selection("for  ", 2), 0, "for  text", 4),
        (Selection("for  ", 2), 1, "for text", 4),
        (Selection("  ", 0), 4, "text", 4),
    ],
)
def test_blanks_that_are_replaced_are_the_entrys_own_first(
    entry: Selection, replaces: int, text: str, start: int
) -> None:
    answer = Answer(3, "text", replaces)
    (found,) = Suggestion.all_of(answer, document("😀a   "), (0, 5), entry, line_end="\n")
    assert (found.id, found.text) == (3, text)
    assert found.range == types.Range(types.Position(0, start), types.Position(0, 6))


def test_an_answer_without_text_has_none() -> None:
    assert Suggestion.all_of(Answer(3, reason="loading"), document(""), (0, 0), Selection(), line_end="\n") == ()


def test_an_editor_that_cannot_draw_replaced_blanks_is_shown_the_others_or_nothing() -> None:
    answer = Answer(3, "    return c", 8, (Shown("x = 1"), Shown("pass", 4)))
    assert that_replace_nothing(answer) == Answer(3, "x = 1")
    assert that_replace_nothing(Answer(3, "    return c", 8)).reason == "suppressed:not_drawn"
    assert that_replace_nothing(Answer(3, reason="loading")).reason == "loading"
    plain = Answer(3, "x = 1", 0, (Shown("y = 1"),))
    assert that_replace_nothing(plain) == plain


@pytest.mark.parametrize(
    ("editor", "experimental", "drawn"),
    [
        ("Neovim", None, False),
        ("Neovim", {"draftline": {"replaces": True}}, True),
        ("Visual Studio Code", None, True),
        ("Visual Studio Code", {"draftline": {"replaces": "yes"}}, True),
    ],
)
def test_who_draws_text_in_place_of_blanks(editor: str, experimental: object, drawn: bool) -> None:
    assert draws_replaced(editor, experimental) == drawn
