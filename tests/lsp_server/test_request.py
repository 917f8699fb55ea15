"""What travels with a completion request, and where it is cut."""

import doctest
import itertools
from typing import Any

import pytest

import lsp_server.request
from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS, Complete
from lsp_server.documents import Document
from lsp_server.request import completion_request
from lsp_server.settings import Settings


class CountedLines(list[str]):
    """Counts the characters that somebody looks at."""

    num_read = 0

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        self.num_read += 1 if isinstance(key, int) else len(item)
        return item


def document(text: str) -> Document:
    return Document("file:///a.py", "python", 1, text, encoding="utf-32")


def request(text: str, line: int, column: int) -> Complete:
    return completion_request(document(text), (line, column), Settings(), id=1)


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(lsp_server.request).failed == 0


def test_a_small_document_travels_whole() -> None:
    message = request("def f():\r\n    pass\r\n\r\nx", 1, 4)
    assert message.prefix == "def f():\r\n    "
    assert message.suffix == "pass\r\n\r\nx"
    assert (message.document, message.language) == ("file:///a.py", "python")


def test_the_cursors_line_is_the_documents_whatever_of_it_travels() -> None:
    # it was left out: drafts came from the lines around the cursor, and never from those at the top
    assert request("a\nb\nc\n", 2, 0).line == 2
    assert request("a line\n" * 50_000, 40_000, 0).line == 40_000


def test_settings_reach_the_request() -> None:
    settings = Settings(max_tokens=7, multiline="never", comments=False, deadline_ms=250.0)
    message = completion_request(document(""), (0, 0), settings, id=9)
    assert (message.id, message.trigger, message.max_tokens, message.multiline) == (9, "automatic", 7, "never")
    assert (message.comments, message.deadline_ms, message.candidates) == (False, 250.0, 1)
    assert (message.draft, message.gamma, message.sampling) == ("auto", None, None), "the decoder's own settings"


def test_who_asks_explicitly_gets_a_choice_and_the_time_for_it() -> None:
    message = completion_request(document(""), (0, 0), Settings(deadline_ms=250.0), id=9, trigger="invoked")
    assert (message.trigger, message.candidates, message.deadline_ms) == ("invoked", 3, 750.0)
    patient = completion_request(document(""), (0, 0), Settings(deadline_ms=0.0), id=9, trigger="invoked")
    assert patient.deadline_ms == 0.0


@pytest.mark.parametrize(
    ("before", "after", "prefix", "suffix"),
    [
        ("", "", "a\nb", "c\nd"),
        ("x = 1\n\n", "", "x = 1\n\na\nb", "c\nd"),
        ("", "\n\ny = 2", "a\nb", "c\nd\n\ny = 2"),
        ("x\n", "\ny\n", "x\na\nb", "c\nd\ny\n"),
    ],
)
def test_a_part_of_something_larger_travels_with_what_is_around_it(
    before: str, after: str, prefix: str, suffix: str
) -> None:
    message = completion_request(document("a\nbc\nd"), (1, 1), Settings(), id=1, before=before, after=after)
    assert (message.prefix, message.suffix, message.line) == (prefix, suffix, 1)


def test_what_is_around_a_part_is_cut_like_the_lines_of_one_document() -> None:
    around = "".join(f"{number:>39}\n" for number in range(2000))
    message = completion_request(document("x = "), (0, 4), Settings(), id=1, before=around, after="\n" + around)
    assert (around + "x = ").endswith(message.prefix)
    assert ("\n" + around).startswith(message.suffix)
    assert PREFIX_CHARACTERS * 3 // 4 - 40 <= len(message.prefix) <= PREFIX_CHARACTERS
    assert SUFFIX_CHARACTERS - 40 <= len(message.suffix) <= SUFFIX_CHARACTERS


@pytest.mark.parametrize("width", [0, 10, 39, 1000, 9000])
@pytest.mark.parametrize("line", [3, 500, 1999])
def test_the_windows_are_next_to_the_cursor_bounded_and_cut_at_line_starts(width: int, line: int) -> None:
    lines = [f"{number:>{width}}\n" for number in range(2000)]
    message = request("".join(lines), line, 2)
    before, after = "".join(lines[:line]) + lines[line][:2], "".join([lines[line][2:], *lines[line + 1 :]])
    assert before.endswith(message.prefix)
    assert after.startswith(message.suffix)
    assert len(message.prefix) <= PREFIX_CHARACTERS
    assert len(message.suffix) <= max(SUFFIX_CHARACTERS, width)
    cut = len(before) - len(message.prefix)
    assert cut == 0 or before[cut - 1] == "\n"
    assert cut == 0 or len(message.prefix) >= PREFIX_CHARACTERS * 3 // 4 - width
    assert len(message.suffix) in (len(after), SUFFIX_CHARACTERS) or message.suffix.endswith("\n")


@pytest.mark.parametrize("width", [5, 40, 300])
def test_the_prefix_begins_at_the_same_place_for_many_keystrokes(width: int) -> None:
    mirror = document(("x" * width + "\n") * 3000)
    starts = []
    for number in range(1000, 2500):
        message = completion_request(mirror, (number, width), Settings(), id=1)
        starts.append(number * (width + 1) + width - len(message.prefix))
    num_moves = sum(before != after for before, after in itertools.pairwise(starts))
    num_windows = 1500 * (width + 1) / PREFIX_CHARACTERS
    assert num_moves <= 12 * num_windows + 3


def test_the_middle_of_one_giant_line_is_bounded_and_steady() -> None:
    text = "abcdefghijklmnopqrstuvwxyz" * 200_000
    mirror = document(text)
    starts = set()
    for column in range(2_500_000, 2_500_400):
        message = completion_request(mirror, (0, column), Settings(), id=1)
        start = column - len(message.prefix)
        assert PREFIX_CHARACTERS * 3 // 4 <= len(message.prefix) <= PREFIX_CHARACTERS
        assert text.startswith(message.prefix + message.suffix, start)
        assert len(message.suffix) == SUFFIX_CHARACTERS
        starts.add(start)
    assert len(starts) <= 2


def test_a_giant_line_beside_the_cursor_stays_behind() -> None:
    giant = "x" * 1_000_000 + "\n"
    message = request(giant + "a = 1\n" + giant, 1, 5)
    assert message.prefix == "a = 1"
    assert message.suffix == "\n"


def test_the_cost_depends_on_the_windows_not_on_the_file() -> None:
    mirror = document("")
    mirror.lines = lines = CountedLines(["a line of some length\n"] * 100_000)
    completion_request(mirror, (60_000, 3), Settings(), id=1)
    assert lines.num_read < 10_000
