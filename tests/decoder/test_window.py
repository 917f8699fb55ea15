import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decoder.window import Window


class Words:
    """Encodes words, line ends and single other characters; remembers what it was asked to encode."""

    def __init__(self, pattern: str = r"\w+|\s|[^\w\s]") -> None:
        self.pieces: list[str] = []
        self.asked: list[int] = []
        self._ids: dict[str, int] = {}
        self._pattern = re.compile(pattern, re.DOTALL)

    def encode(self, text: str) -> list[int]:
        self.asked.append(len(text))
        found = self._pattern.findall(text)
        for piece in found:
            if piece not in self._ids:
                self._ids[piece] = len(self.pieces)
                self.pieces.append(piece)
        return [self._ids[piece] for piece in found]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)


def window(words: Words, text: str, before: Window[int] | None = None, room: int = 100) -> Window[int]:
    """The window after a keystroke."""
    before = before or Window(())
    kept = Window.kept(text, before.begin, before.head, words.encode, room)
    return kept or Window.fresh(text, words.encode, room)


def source(num_functions: int) -> str:
    return "".join(f"def f{n}(a, b):\n    c = a + {n}\n    return b * c\n\n\n" for n in range(num_functions))


def typed(words: Words, text: str, added: str, room: int) -> list[Window[int]]:
    """The windows of every keystroke."""
    windows = [window(words, text, room=room)]
    for end in range(1, len(added) + 1):
        windows.append(window(words, text + added[:end], windows[-1], room))
    return windows[1:]


def moves(windows: Sequence[Window[int]]) -> int:
    """How often the window's start moved."""
    return sum(left.begin != right.begin for left, right in pairwise(windows))


@given(
    st.lists(st.sampled_from(["def f(x):\n", "    return x\n", "\n", "μ" * 50, "x" * 300, "}\n", " " * 60])),
    st.integers(0, 120),
    st.sampled_from([r"\w+|\s|[^\w\s]", r".", r".{1,7}", r" {1,32}|."]),
    st.builds(lambda begin, head: Window((), begin, head), st.integers(0, 400), st.sampled_from(["", "\n", "x" * 240])),
)
@example(["μ" * 50] * 40, 16, ".", Window(()))
@example([" " * 60] * 40 + ["x" * 300], 100, " {1,32}|.", Window(()))
def test_a_window_ends_at_the_cursor_and_never_exceeds_its_room(
    parts: list[str], room: int, pattern: str, found: Window[int]
) -> None:
    words = Words(pattern)
    text = "".join(parts)
    for _ in range(2):
        found = window(words, text, found, room)
        assert len(found.units) <= room
        assert text.endswith(words.decode(found.units))
        assert found.begin == len(text) - len(words.decode(found.units))
        assert text.startswith(found.head, found.begin)


def test_a_text_that_fits_is_the_window() -> None:
    words = Words()
    text = "import os\n\nprint(os."
    assert words.decode(window(words, text).units) == text


def test_a_text_that_fits_is_the_window_also_after_its_beginning_was_edited() -> None:
    # the first request's whole text was looked for again, and "x" was found inside "import xml"
    words = Words()
    text = "import xml\n\nx = xml"
    assert words.decode(window(words, text, window(words, "x")).units) == text


def test_typing_changes_only_the_end_of_a_window() -> None:
    words = Words()
    added = source(12)
    num_typed = len(words.encode(added))
    assert num_typed > 200
    assert moves(typed(words, source(60), added, 200)) <= num_typed / (0.4 * 200) + 1


def test_a_document_that_outgrows_its_room_moves_its_window_rarely() -> None:
    words = Words()
    added = source(20)
    assert len(words.encode(added)) > 500
    windows = typed(words, "", added, 200)
    assert words.decode(windows[199].units) == added[:200]
    assert moves(windows) <= len(words.encode(added)) / (0.4 * 200) + 1


def test_deleting_does_not_move_the_window() -> None:
    words = Words()
    text = source(60)
    windows = [window(words, text, room=200)]
    for end in range(len(text), len(text) - 60, -1):
        windows.append(window(words, text[:end], windows[-1], 200))
    assert moves(windows) == 0


def test_lines_put_in_above_do_not_change_the_window() -> None:
    words = Words()
    text = source(60)
    before = window(words, text, room=200)
    after = window(words, "import os\n" + text, before, 200)
    assert (after.units, after.begin) == (before.units, before.begin + 10)


def test_a_window_begins_at_the_left_margin() -> None:
    words = Words()
    assert words.decode(window(words, source(60), room=200).units).startswith("def f")


def test_a_window_begins_at_a_line_where_nothing_stands_at_the_left_margin() -> None:
    words = Words()
    text = "class A:\n" + "".join(f"    value{n} = {n}\n" for n in range(300))
    assert words.decode(window(words, text).units).startswith("    value")


@pytest.mark.parametrize("line", ["x" * 200_000, "[" + "1, " * 60_000, "μ" * 50_000])
def test_a_giant_line_is_cut_between_characters_and_stays_cut_there(line: str) -> None:
    words = Words(r".{1,4}")
    windows = typed(words, line, "abcdefgh", 200)
    assert all(100 <= len(found.units) <= 200 for found in windows)
    assert moves(windows) == 0


@pytest.mark.parametrize("text", [source(20_000), "x" * 1_000_000, " " * 1_000_000, "\n" * 1_000_000])
def test_the_cost_of_a_window_does_not_grow_with_the_document(text: str) -> None:
    words = Words()
    window(words, text + "a", window(words, text))
    assert sum(words.asked) <= 2 * 40 * 100, "characters encoded for two windows of 100 tokens"


def test_a_unit_may_be_a_character() -> None:
    found = Window.fresh(source(60), lambda text: text, 300)
    text = "".join(found.units)
    assert text.startswith("def f")
    assert 100 <= len(text) <= 300
