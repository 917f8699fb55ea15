from hypothesis import given
from hypothesis import strategies as st

from drafting.lines import clamp, replace_lines, split_lines

TEXT = st.text(alphabet="ab\r\n\u2028\x0c😀", max_size=24)
POSITION = st.tuples(st.integers(-1, 8), st.integers(-2, 8))


def naive_lines(text: str) -> list[str]:
    """LSP's rule, a character at a time."""
    lines = [""]
    for index, character in enumerate(text):
        lines[-1] += character
        if character == "\n" or (character == "\r" and text[index + 1 : index + 2] != "\n"):
            lines.append("")
    return lines


def naive_offset(lines: list[str], line: int, column: int) -> int:
    if line < 0:
        return 0
    if line >= len(lines):
        return sum(map(len, lines))
    return sum(map(len, lines[:line])) + max(0, min(column, len(lines[line].rstrip("\r\n"))))


@given(TEXT)
def test_splitting_follows_lsp_and_loses_nothing(text: str) -> None:
    assert split_lines(text) == naive_lines(text)
    assert "".join(split_lines(text)) == text


@given(TEXT, st.lists(st.tuples(POSITION, POSITION, TEXT), min_size=1, max_size=5))
def test_edits_agree_with_edits_of_the_whole_text(
    text: str, edits: list[tuple[tuple[int, int], tuple[int, int], str]]
) -> None:
    lines = split_lines(text)
    for start, end, inserted in edits:
        before = list(lines)
        text = "".join(before)
        begin = naive_offset(before, *start)
        stop = max(begin, naive_offset(before, *end))
        first, num_removed, num_inserted = replace_lines(lines, start, end, inserted)
        assert lines == naive_lines(text[:begin] + inserted + text[stop:])
        assert num_removed >= 1
        assert before[:first] + lines[first : first + num_inserted] + before[first + num_removed :] == lines


def test_carriage_return_and_line_feed_typed_apart_become_one_line_end() -> None:
    lines = split_lines("one\rtwo")
    assert replace_lines(lines, (1, 0), (1, 0), "\n") == (0, 2, 2)
    assert lines == ["one\r\n", "two"]


def test_deleting_what_kept_them_apart_joins_them_too() -> None:
    lines = split_lines("one\rx\ntwo")
    replace_lines(lines, (1, 0), (1, 1), "")
    assert lines == ["one\r\n", "two"]


@given(TEXT, POSITION)
def test_a_clamped_position_is_valid_and_stays_where_it_is(text: str, position: tuple[int, int]) -> None:
    lines = split_lines(text)
    line, column = clamp(lines, *position)
    assert 0 <= line < len(lines)
    assert 0 <= column <= len(lines[line].rstrip("\r\n"))
    assert clamp(lines, line, column) == (line, column)
