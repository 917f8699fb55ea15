"""When nothing is suggested, and when something is though it looks alike."""

import doctest

import pytest

import lsp_server.keystroke
from decoder.wire.messages import Complete, TextEdit, Trigger
from lsp_server.keystroke import Keystroke, keystroke
from lsp_server.quiet import AFTER_DELETION, DISABLED, INSIDE_WORD, LANGUAGE, Quiet, switched_off
from lsp_server.settings import Settings

A = "file:///a.py"


HERE = (0, 3)
KEYS = {
    "insertion": [TextEdit(0, 2, 0, 2, "i")],
    "deletion": [TextEdit(0, 3, 0, 4, "")],
    "paste": [TextEdit(0, 0, 0, 0, "pri")],
}


def request(
    suffix: str = "", *, trigger: Trigger = "automatic", document: str = A, language: str = "python"
) -> Complete:
    return Complete(1, document, language, "pri", suffix, trigger=trigger)


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(lsp_server.keystroke).failed == 0


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (Settings(), ""),
        (Settings(enabled=False), DISABLED),
        (Settings(languages=("rust",)), LANGUAGE),
        (Settings(languages=("rust", "python")), ""),
        (Settings(enabled=False, languages=("rust",)), DISABLED),
    ],
)
def test_what_is_switched_off_says_by_which_setting(settings: Settings, reason: str) -> None:
    assert switched_off(settings, "python") == reason


@pytest.mark.parametrize(
    ("suffix", "reason"),
    [
        ("nt(x)", INSIDE_WORD),
        ("_x", INSIDE_WORD),
        ("9", INSIDE_WORD),
        ("é", INSIDE_WORD),
        ("漢", INSIDE_WORD),
        ("\u0301cole", INSIDE_WORD),  # the accent belongs to the letter before the cursor
        ("\u093f", INSIDE_WORD),
        ("", ""),
        (")", ""),
        (" nt", ""),
        ("\nnt", ""),
        ("-nt", ""),
        ("$x", ""),
        ("${x}", ""),
        ("'", ""),
        ("😀", ""),
    ],
)
def test_the_inside_of_a_word_is_left_alone(suffix: str, reason: str) -> None:
    assert Quiet().reason(request(suffix), HERE) == reason
    assert Quiet().reason(request(suffix, trigger="invoked"), HERE) == "", "who asks wants it there"


@pytest.mark.parametrize(
    ("suffix", "language", "reason"),
    [
        ("-top: 0", "css", INSIDE_WORD),
        ("-when x", "clojure", INSIDE_WORD),
        ("- 1", "css", ""),
        ("->x", "scheme", ""),
        ("-top", "typescript", ""),
    ],
)
def test_a_hyphen_is_inside_a_word_where_words_have_hyphens(suffix: str, language: str, reason: str) -> None:
    assert Quiet().reason(request(suffix, language=language), HERE) == reason


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["deletion"], AFTER_DELETION),
        (["insertion", "deletion", "deletion"], AFTER_DELETION),
        (["deletion", "deletion", "deletion"], ""),
        (["deletion"] * 9, ""),
        (["deletion", "insertion"], ""),
        (["deletion", "paste"], ""),
        (["deletion"] * 3 + ["insertion", "deletion"], AFTER_DELETION),
        (["paste"], ""),
        ([], ""),
    ],
)
def test_a_slip_that_is_put_right_is_not_talked_into(keys: list[str], reason: str) -> None:
    quiet = Quiet()
    for key in keys:
        quiet.edited(A, KEYS[key])
    assert quiet.reason(request(), HERE) == reason
    assert quiet.reason(request(trigger="invoked"), HERE) == ""
    assert quiet.reason(request(document="file:///b.py"), HERE) == "", "each document has its own keys"
    assert quiet.reason(request(), (0, 7)) == quiet.reason(request(), (9, 3)) == "", "the slip is not there"
    quiet.forget(A)
    assert quiet.reason(request(), HERE) == ""


@pytest.mark.parametrize(
    ("edits", "key"),
    [
        ([TextEdit(1, 2, 1, 2, "\n")], "insertion"),
        ([TextEdit(1, 2, 1, 2, "\r\n")], "insertion"),
        ([TextEdit(1, 2, 1, 2, "😀")], "insertion"),
        ([TextEdit(1, 2, 1, 2, "()")], None),
        ([TextEdit(1, 7, 2, 0, "")], "deletion"),  # two lines become one
        ([TextEdit(1, 2, 1, 4, "")], None),
        ([TextEdit(1, 7, 2, 1, "")], None),
        ([TextEdit(1, 7, 3, 0, "")], None),
        ([TextEdit(1, 2, 1, 3, "x")], None),
        ([TextEdit(1, 2, 1, 2, "")], None),
        ([TextEdit(1, 2, 1, 3, ""), TextEdit(4, 2, 4, 3, "")], None),  # many cursors
    ],
)
def test_one_key_is_told_from_other_edits(edits: list[TextEdit], key: Keystroke | None) -> None:
    assert keystroke(edits) == key
