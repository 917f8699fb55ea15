import logging
import threading

import pytest

from decoder.indexing import IndexingThread
from drafting.corpus import Corpus


def encode(text: str) -> list[int]:
    return [ord(character) for character in text]


def found(corpus: Corpus, pair: str) -> int:
    return len(corpus.exact((ord(pair[0]), ord(pair[1])), 100))


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
