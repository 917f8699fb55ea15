"""Files and places named on the command line."""

from pathlib import Path

import pytest

from decoder.engine import EngineError
from decoder.source_file import Place, read_source, split_at


def test_a_place_is_read_from_the_right_so_names_may_hold_colons() -> None:
    assert Place.parse("a:b/c.py:12:5") == Place(Path("a:b/c.py"), 12, 5)


@pytest.mark.parametrize("text", ["a.py", "a.py:1", ":1:1", "a.py:0:1", "a.py:1:0", "a.py:x:1", "a.py:1:-1", "", "1:1"])
def test_anything_else_is_named_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not FILE:LINE:COL") as caught:
        Place.parse(text)
    assert repr(text) in str(caught.value)


def test_columns_count_characters_and_lines_end_by_the_rule_of_lsp() -> None:
    text = 'a = "\u2028"\r\ns = "😀漢"\n'
    assert split_at(text, Place(Path("a"), 2, 7)) == ('a = "\u2028"\r\ns = "😀', '漢"\n')
    assert split_at(text, Place(Path("a"), 3, 1)) == (text, "")


@pytest.mark.parametrize(
    ("line", "column", "said"), [(4, 1, "a has 3 lines, there is no line 4"), (1, 9, "line 1 of a has 7 characters")]
)
def test_a_place_outside_the_text_is_told_with_the_limits(line: int, column: int, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        split_at("x = 123\n\n", Place(Path("a"), line, column))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"a\0b", "is not UTF-8 text"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"\xe4\n", "UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EngineError, match=said) as caught:
        read_source(path)
    assert str(path) in str(caught.value)


def test_a_file_without_a_size_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    # the size that a device tells is 0: all of it was read, until the memory was full
    monkeypatch.setattr("decoder.source_file.MAX_BYTES", 1000)
    with pytest.raises(EngineError, match="is larger than"):
        read_source(Path("/dev/zero"))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot read"):
        read_source(tmp_path)


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfx")
    assert read_source(path) == "x"


@pytest.mark.parametrize(("name", "pattern"), [(".env", ".env"), ("deploy.key", "*.key"), ("link.txt", ".env")])
def test_a_file_with_secrets_is_refused_with_the_pattern_and_the_remedy(
    tmp_path: Path, name: str, pattern: str
) -> None:
    (tmp_path / "link.txt").symlink_to(tmp_path / ".env")
    (tmp_path / name).write_text("TOKEN=1", encoding="utf-8")
    with pytest.raises(EngineError) as caught:
        read_source(tmp_path / name)
    assert f"{tmp_path / name} is not read: its name matches {pattern!r}" in str(caught.value)
    assert "give it another name" in str(caught.value)
    assert "TOKEN" not in str(caught.value)


def test_an_example_of_such_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / ".env.example").write_text("TOKEN=", encoding="utf-8")
    assert read_source(tmp_path / ".env.example") == "TOKEN="
