"""When nothing is suggested, and when something is though it looks alike."""

import doctest

import pytest

import lsp_server.keystroke
from decoder.wire.messages import Complete, TextEdit, Trigger
from lsp_server.keystroke import Keystroke, keystroke
from lsp_server.quiet import AFTER_DELETION, DISABLED, INSIDE_WORD, LANGUAGE, Quiet, switched_off
from lsp_server.settings import Settings

A = "file:///a.py"


def request(suffix: str = "", *, trigger: Trigger = "automatic", document: str = A) -> Complete:
    return Complete(1, document, "python", "pri", suffix, trigger=trigger)


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
        ("", ""),
        (")", ""),
        (" nt", ""),
        ("\nnt", ""),
        ("-nt", ""),
        ("😀", ""),
    ],
)
def test_the_inside_of_a_word_is_left_alone(suffix: str, reason: str) -> None:
    assert Quiet().reason(request(suffix)) == reason
    assert Quiet().reason(request(suffix, trigger="invoked")) == "", "who asks wants it there"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["deletion"], AFTER_DELETION),
        (["insertion", "deletion", "deletion"], AFTER_DELETION),
        (["deletion", "deletion", "deletion"], ""),
        (["deletion"] * 9, ""),
        (["deletion", "insertion"], ""),
        (["deletion", None], ""),
        (["deletion"] * 3 + ["insertion", "deletion"], AFTER_DELETION),
        ([None], ""),
        ([], ""),
    ],
)
def test_a_slip_that_is_put_right_is_not_talked_into(keys: list[Keystroke | None], reason: str) -> None:
    quiet = Quiet()
    for key in keys:
        quiet.edited(A, key)
    assert quiet.reason(request()) == reason
    assert quiet.reason(request(trigger="invoked")) == ""
    assert quiet.reason(request(document="file:///b.py")) == "", "each document has its own keys"
    quiet.forget(A)
    assert quiet.reason(request()) == ""


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
