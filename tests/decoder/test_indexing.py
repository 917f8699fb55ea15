import doctest
import logging
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import decoder.indexing
from decoder.indexing import IndexingThread
from drafting.corpus import Corpus


def encode(text: str) -> list[int]:
    return [ord(character) for character in text]


def found(corpus: Corpus, pair: str) -> int:
    return len(corpus.exact((ord(pair[0]), ord(pair[1])), 100))


def text_of(corpus: Corpus, document: str, num_lines: int) -> str:
    """What the index has of a document."""
    numbers = {corpus.run_at(document, line): None for line in range(num_lines)}
    passages = [corpus.passage(number) for number in numbers if number is not None]
    return "".join(chr(token) for passage in passages if passage for token in passage.tokens)


class Gate:
    """Tokenises, and counts how often, as soon as it is open."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.texts: list[str] = []

    def encode(self, text: str) -> list[int]:
        assert self.is_open.wait(10)
        self.texts.append(text)
        return encode(text)


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(decoder.indexing).failed == 0


def test_changes_are_indexed_in_the_order_they_came() -> None:
    corpus = Corpus(encode)
    indexing = IndexingThread(corpus)
    indexing.open("x", ["ab\n"])
    indexing.edit("x", 0, 1, ["cd\n"])
    indexing.open("y", ["ef\n"])
    indexing.close("y")
    indexing.skip("z", "secret")
    indexing.wait()
    assert corpus.skipped == {"z": "secret"}
    assert (found(corpus, "ab"), found(corpus, "cd"), found(corpus, "ef")) == (0, 1, 0)
    indexing.stop()


def test_calls_return_before_the_work_is_done() -> None:
    go = threading.Event()

    def slow(text: str) -> list[int]:
        assert go.wait(10)
        return encode(text)

    corpus = Corpus(slow)
    indexing = IndexingThread(corpus)
    indexing.open("x", ["ab\n"])
    assert found(corpus, "ab") == 0
    go.set()
    indexing.wait()
    assert found(corpus, "ab") == 1
    indexing.stop()


def test_a_buffer_that_cannot_be_indexed_is_logged_and_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing(text: str) -> list[int]:
        if "!" in text:
            raise ValueError("cannot be tokenised")
        return encode(text)

    corpus = Corpus(failing)
    indexing = IndexingThread(corpus)
    with caplog.at_level(logging.ERROR):
        indexing.open("x", ["!\n"])
        indexing.open("y", ["ab\n"])
        indexing.wait()
    assert found(corpus, "ab") == 1
    assert [record.message for record in caplog.records] == ["a buffer could not be indexed"]
    indexing.stop()


def test_stopping_drops_what_is_not_begun() -> None:
    go, begun = threading.Event(), threading.Event()
    seen: list[str] = []

    def slow(text: str) -> list[int]:
        begun.set()
        assert go.wait(10)
        seen.append(text)
        return encode(text)

    indexing = IndexingThread(Corpus(slow))
    indexing.open("x", ["ab\n"])
    indexing.open("y", ["cd\n"])
    assert begun.wait(10)
    threading.Timer(0.05, go.set).start()
    indexing.stop()
    assert seen == ["ab\n"]


EDITS = st.lists(
    st.tuples(st.sampled_from("xy"), st.integers(0, 6), st.integers(0, 4), st.lists(st.sampled_from(["ab\n", "c\n"]))),
    max_size=12,
)


@given(EDITS, st.integers(0, 12))
def test_edits_that_wait_come_to_the_same_whenever_they_are_begun(
    edits: Sequence[tuple[str, int, int, list[str]]], pause: int
) -> None:
    gate = Gate()
    corpus = Corpus(gate.encode)
    indexing = IndexingThread(corpus)
    documents = {name: ["1\n", "2\n", "3\n", "4\n"] for name in "xy"}
    for name, lines in documents.items():
        indexing.open(name, list(lines))
    for number, (name, first, num_removed, new) in enumerate(edits):
        if number == pause:
            gate.is_open.set()
        lines = documents[name]
        first = min(first, len(lines))
        num_removed = min(num_removed, len(lines) - first)
        lines[first : first + num_removed] = new
        indexing.edit(name, first, num_removed, new)
    gate.is_open.set()
    indexing.wait()
    for name, lines in documents.items():
        assert text_of(corpus, name, len(lines)) == "".join(lines)
    indexing.stop()


def test_what_is_typed_at_one_place_while_the_thread_is_busy_is_indexed_once() -> None:
    # in a file that takes 100 ms to parse, the index was seconds behind who typed quickly
    gate = Gate()
    indexing = IndexingThread(Corpus(gate.encode))
    indexing.open("busy", ["zz\n"])
    indexing.open("x", ["ab\n"] * 3)
    for end in range(1, 9):
        indexing.edit("x", 1, 1, ["typed = 1"[:end] + "\n"])
    indexing.edit("x", 1, 1, ["typed = \n", "\n"])
    indexing.edit("x", 2, 1, ["more\n"])
    gate.is_open.set()
    indexing.wait()
    assert gate.texts == ["zz\n", "ab\n" * 3, "ab\ntyped = \nmore\nab\n"]
    indexing.stop()


@pytest.mark.parametrize("between", ["edit elsewhere", "open", "close", "skip"])
def test_an_edit_is_not_joined_to_one_before_something_else(between: str) -> None:
    gate = Gate()
    corpus = Corpus(gate.encode)
    indexing = IndexingThread(corpus)
    lines = [f"{number}\n" for number in range(9)]
    indexing.open("x", lines)
    indexing.edit("x", 1, 1, ["old\n"])
    match between:
        case "edit elsewhere":
            indexing.edit("x", 7, 1, ["far\n"])
        case "open":
            indexing.open("x", lines)
        case "close":
            indexing.close("x")
        case "skip":
            indexing.skip("x", "secret")
    indexing.edit("x", 2, 1, ["new\n"])
    gate.is_open.set()
    indexing.wait()
    expected = {
        "edit elsewhere": "0\nold\nnew\n3\n4\n5\n6\nfar\n8\n",
        "open": "0\n1\nnew\n3\n4\n5\n6\n7\n8\n",
    }
    assert text_of(corpus, "x", 9) == expected.get(between, "")
    indexing.stop()
