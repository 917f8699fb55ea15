import threading
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from decoder.buffers import Buffers, OpenDocument
from decoder.wire.messages import BufferClosed, BufferEdited, BufferOpened, TextEdit
from drafting.lines import split_lines
from drafting.screening import MAX_BUFFER_CHARACTERS


class Recorder:
    """A `BufferIndex` that keeps the texts it was told of."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.languages: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.given: list[list[str]] = []

    def open(self, document: str, lines: list[str], *, language: str) -> None:
        self.given.append(lines)
        self.texts[document] = list(lines)
        self.languages[document] = language

    def edit(self, document: str, first: int, num_removed: int, lines: list[str]) -> None:
        self.given.append(lines)
        self.texts[document][first : first + num_removed] = lines

    def skip(self, document: str, reason: str) -> None:
        self.texts.pop(document, None)
        self.skipped[document] = reason

    def close(self, document: str) -> None:
        self.texts.pop(document, None)
        self.skipped.pop(document, None)


TEXT = st.text(alphabet="ab\r\n", max_size=12)
EDIT = st.builds(TextEdit, st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), TEXT)


def opened(text: str, version: int = 1, document: str = "1:x") -> BufferOpened:
    return BufferOpened(document, "python", version, text)


def edited(base: int, version: int, *edits: TextEdit, document: str = "1:x") -> BufferEdited:
    return BufferEdited(document, base, version, edits)


@given(TEXT, st.lists(st.lists(EDIT, max_size=3), max_size=4))
def test_the_index_hears_of_every_edit(text: str, changes: list[list[TextEdit]]) -> None:
    buffers, index, late = Buffers(), Recorder(), Recorder()
    buffers.attach(index)
    assert buffers.apply(opened(text))
    for version, edits in enumerate(changes, start=1):
        assert buffers.apply(edited(version, version + 1, *edits))
    buffers.attach(late)
    assert late.texts == index.texts
    whole = "".join(index.texts["1:x"])
    assert index.texts["1:x"] == split_lines(whole)


def test_edits_are_applied_in_the_order_they_were_made() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.attach(index)
    buffers.apply(opened("one\ntwo\n"))
    first, second = TextEdit(0, 0, 1, 0, ""), TextEdit(0, 0, 0, 3, "2")
    assert buffers.apply(edited(1, 2, first, second))
    assert index.texts == {"1:x": ["2\n", ""]}


def test_an_edit_of_another_version_asks_for_the_text_and_forgets_the_stale_one() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.attach(index)
    buffers.apply(opened("old", version=1))
    assert not buffers.apply(edited(2, 3, TextEdit(0, 0, 0, 0, "x")))
    assert index.texts == {}, "text that no longer exists is not drafted from"
    assert not buffers.apply(edited(3, 4, TextEdit(0, 0, 0, 0, "x")))
    assert buffers.apply(opened("new", version=4))
    assert buffers.apply(edited(4, 5, TextEdit(0, 3, 0, 3, "er")))
    assert index.texts == {"1:x": ["newer"]}


def test_edits_of_an_unknown_document_ask_for_its_text() -> None:
    assert not Buffers().apply(edited(1, 2))


def test_an_index_that_comes_late_learns_what_is_open() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.apply(opened("a\n"))
    buffers.apply(opened("b\n", document="2:y"))
    buffers.apply(BufferClosed("2:y"))
    buffers.attach(index)
    assert index.texts == {"1:x": ["a\n", ""]}


def test_what_the_index_was_given_does_not_change_behind_its_back() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.attach(index)
    buffers.apply(opened("a\nb\n"))
    buffers.apply(edited(1, 2, TextEdit(0, 0, 0, 1, "x")))
    buffers.apply(edited(2, 3, TextEdit(0, 0, 0, 1, "y")))
    assert index.given == [["a\n", "b\n", ""], ["x\n"], ["y\n"]]


def test_a_client_that_leaves_takes_its_documents_along_and_no_others() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.attach(index)
    for document in ("1:x", "1:y", "11:x", "2:1:x"):
        buffers.apply(opened("a", document=document))
    buffers.forget("1:")
    assert set(index.texts) == {"11:x", "2:1:x"}


def test_closing_what_is_not_open_is_nothing() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.attach(index)
    assert buffers.apply(BufferClosed("1:x"))
    assert index.texts == {}


def test_the_index_learns_the_language_also_when_it_comes_late() -> None:
    buffers, early, late = Buffers(), Recorder(), Recorder()
    buffers.attach(early)
    buffers.apply(opened("a\n"))
    buffers.attach(late)
    assert early.languages == late.languages == {"1:x": "python"}


def test_a_text_that_is_too_large_is_neither_kept_nor_split_and_its_versions_are_followed() -> None:
    # twelve megabytes were split into lines on the event loop, which took 84 ms
    buffers, index, late = Buffers(), Recorder(), Recorder()
    buffers.attach(index)
    large = "x\n" * MAX_BUFFER_CHARACTERS
    assert buffers.apply(opened(large, version=1))
    assert buffers.apply(edited(1, 2, TextEdit(0, 0, 0, 1, "y")))
    assert not index.given
    buffers.attach(late)
    assert "too large" in late.skipped["1:x"]
    assert buffers.apply(opened("small", version=3))
    assert late.texts == {"1:x": ["small"]}


def test_a_paste_that_is_too_large_takes_the_document_out_of_the_index() -> None:
    buffers, index = Buffers(), Recorder()
    buffers.attach(index)
    buffers.apply(opened("a"))
    assert buffers.apply(edited(1, 2, TextEdit(0, 0, 0, 0, "x\n" * MAX_BUFFER_CHARACTERS)))
    assert buffers.apply(edited(2, 3, TextEdit(0, 0, 0, 0, "y")))
    assert not index.texts
    assert "too large" in index.skipped["1:x"]


def test_what_else_a_client_has_open_is_told_in_order_without_texts_that_are_too_large() -> None:
    buffers = Buffers()
    for document in ("1:c", "1:a", "1:b", "11:d", "2:1:a"):
        buffers.apply(opened("a\n", document=document))
    buffers.apply(opened("x\n" * MAX_BUFFER_CHARACTERS, document="1:large"))
    assert buffers.beside("1:b") == ("1:a", "1:c")
    assert buffers.beside("1:unknown") == ("1:a", "1:b", "1:c")
    assert buffers.beside("3:a") == buffers.beside("file.py") == ()
    assert buffers.read("1:large", 9) is None
    assert buffers.read("1:unknown", 9) is None


def test_what_was_read_does_not_change_with_later_edits() -> None:
    buffers = Buffers()
    buffers.apply(opened("a\nb\n"))
    read = buffers.read("1:x", 2)
    buffers.apply(edited(1, 2, TextEdit(0, 0, 0, 1, "x")))
    assert read == OpenDocument("1:x", "python", ["a\n", "b\n"])


def test_documents_may_be_read_while_others_are_opened_and_closed() -> None:
    buffers = Buffers()
    reading = threading.Event()
    found: list[int] = []

    def read() -> None:
        reading.set()
        while buffers.read("1:last", 9) is None:
            found.append(len([buffers.read(name, 9) for name in buffers.beside("1:x")]))

    with ThreadPoolExecutor(1) as thread:
        reader = thread.submit(read)
        reading.wait()
        for number in range(2000):
            buffers.apply(opened("a\n" * 50, document=f"1:{number}"))
            if number % 3:
                buffers.apply(BufferClosed(f"1:{number - 1}"))
        buffers.apply(opened("a", document="1:last"))
        reader.result(timeout=20)
    assert found
