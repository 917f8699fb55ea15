import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafting import corpus as corpus_module
from drafting.corpus import Corpus

ALPHABET = "abcd\n"
LINE = st.text(alphabet="abcd", max_size=12).map(lambda text: text + "\n")
LINES = st.lists(LINE, max_size=20)
EDIT = st.tuples(st.sampled_from("xy"), st.integers(0, 40), st.integers(0, 12), LINES)


def encode(text: str) -> list[int]:
    return [ord(character) for character in text]


def found(corpus: Corpus) -> dict[int, str]:
    """Every sequence that a search can reach, by number."""
    pairs = [(ord(first), ord(second)) for first in ALPHABET for second in ALPHABET]
    hits = [hit for pair in pairs for hit in corpus.candidates(pair, 10_000)]
    assert all(tuple(tokens[end - 2 : end]) in pairs for _, tokens, end in hits)
    return {number: "".join(map(chr, tokens)) for number, tokens, _ in hits}


def pairs_within_lines(texts: Sequence[str]) -> Counter[tuple[str, str]]:
    return Counter(pair for text in texts for line in text.splitlines() for pair in pairwise(line))


def check(corpus: Corpus, documents: dict[str, list[str]]) -> None:
    """The corpus finds exactly what is written now, run by run."""
    texts = found(corpus)
    for document, lines in documents.items():
        for number, group in groupby(range(len(lines)), key=lambda line: corpus.run_at(document, line)):
            assert number is not None
            text = "".join(lines[line] for line in group)
            assert texts.pop(number, text) == text
    assert not texts, "text that is no longer written was found"
    assert corpus.num_tokens == sum(len(line) for lines in documents.values() for line in lines)


@pytest.fixture
def small_runs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "RUN_LINES", 4)
        patch.setattr(corpus_module, "MAX_RUN_CHARACTERS", 30)
        yield


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns thousands of times more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("small_runs")
@given(st.fixed_dictionaries({"x": LINES, "y": LINES}), st.lists(EDIT, max_size=12))
@pytest.mark.trap(32)
def test_after_any_edits_it_finds_what_a_corpus_built_anew_finds(
    documents: dict[str, list[str]], edits: list[tuple[str, int, int, list[str]]]
) -> None:
    edited = Corpus(encode)
    for document, lines in documents.items():
        edited.open(document, lines)
    for document, first, num_removed, inserted in edits:
        lines = documents[document]
        first = min(first, len(lines))
        num_removed = min(num_removed, len(lines) - first)
        lines[first : first + num_removed] = inserted
        edited.edit(document, first, num_removed, inserted)
        check(edited, documents)
    rebuilt = Corpus(encode)
    for document, lines in documents.items():
        rebuilt.open(document, lines)
    assert edited.num_tokens == rebuilt.num_tokens
    assert pairs_within_lines(list(found(edited).values())) == pairs_within_lines(list(found(rebuilt).values()))


def test_typing_does_not_shred_a_document_into_tiny_runs() -> None:
    corpus = Corpus(encode)
    lines = ["abcd\n"] * 400
    corpus.open("x", lines)
    for _ in range(300):
        corpus.edit("x", 100, 0, ["abc\n"])
        lines.insert(100, "abc\n")
    check(corpus, {"x": lines})
    runs = {corpus.run_at("x", line) for line in range(len(lines))}
    assert len(lines) / len(runs) >= corpus_module.RUN_LINES / 2


def test_an_edit_tokenises_only_the_runs_it_touches() -> None:
    sizes: list[int] = []

    def counting(text: str) -> list[int]:
        sizes.append(len(text))
        return encode(text)

    corpus = Corpus(counting)
    corpus.open("x", ["abcd\n"] * 10_000)
    sizes.clear()
    corpus.edit("x", 5000, 1, ["dcba\n"])
    assert sum(sizes) <= 2 * corpus_module.RUN_LINES * len("abcd\n")


def test_a_closed_or_reopened_document_leaves_nothing_behind() -> None:
    corpus = Corpus(encode)
    corpus.open("x", ["aaaa\n"])
    corpus.open("x", ["bbbb\n"])
    check(corpus, {"x": ["bbbb\n"]})
    corpus.close("x")
    corpus.close("x")
    corpus.edit("x", 0, 1, ["cccc\n"])
    assert corpus.num_tokens == 0
    assert not found(corpus)
    assert corpus.run_at("x", 0) is None


def test_a_document_that_is_too_large_is_not_indexed_however_it_grew() -> None:
    # it was measured when opened only: a paste could take it over the limit
    corpus = Corpus(encode)
    line = "ab" * 4999 + "c\n"
    corpus.open("opened", [line] * (corpus_module.MAX_BUFFER_CHARACTERS // len(line) + 1))
    assert corpus.num_tokens == 0
    corpus.open("pasted", ["ab\n"])
    corpus.edit("pasted", 0, 0, [line] * (corpus_module.MAX_BUFFER_CHARACTERS // len(line) + 1))
    assert corpus.num_tokens == 0
    corpus.edit("pasted", 0, 1, ["ab\n"])
    assert not found(corpus)


def test_a_giant_line_is_indexed_up_to_a_limit() -> None:
    corpus = Corpus(encode)
    corpus.open("x", ["a" * 500_000 + "\n", "bcd\n"])
    assert corpus.num_tokens <= corpus_module.MAX_RUN_CHARACTERS + len("bcd\n")
    corpus.edit("x", 0, 1, ["d\n"])
    check(corpus, {"x": ["d\n", "bcd\n"]})


def test_the_least_recently_edited_documents_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MAX_CORPUS_TOKENS", 40)
    corpus = Corpus(encode)
    corpus.open("first", ["aaaaaaaaa\n"])
    corpus.open("second", ["bbbbbbbbb\n"])
    corpus.open("third", ["ccccccccc\n"])
    corpus.edit("first", 0, 1, ["aaaaaaaa\n"])
    corpus.open("fourth", ["ddddddddddddddd\n"])
    assert corpus.num_tokens <= 40
    assert set(found(corpus).values()) == {"aaaaaaaa\n", "ccccccccc\n", "ddddddddddddddd\n"}


def test_a_document_that_cannot_be_tokenised_is_forgotten_not_left_stale() -> None:
    # the old text stayed in the index, and later edits were applied to the wrong lines
    def failing(text: str) -> list[int]:
        if "!" in text:
            raise ValueError(text)
        return encode(text)

    corpus = Corpus(failing)
    corpus.open("x", ["abcd\n"])
    with pytest.raises(ValueError, match="!"):
        corpus.edit("x", 0, 1, ["!\n"])
    corpus.edit("x", 0, 1, ["ab\n"])
    assert not found(corpus)


@pytest.mark.usefixtures("eager_threads")
def test_searching_while_edits_arrive_finds_only_whole_sequences() -> None:
    corpus = Corpus(encode)
    corpus.open("x", ["abcd\n"] * 200)
    faults: list[BaseException] = []
    finished = threading.Event()

    def edit() -> None:
        try:
            for step in range(1000):
                corpus.edit("x", step % 150, 1 + step % 3, ["dcba\n"] * (1 + step % 3))
        except BaseException as fault:
            faults.append(fault)
        finally:
            finished.set()

    thread = threading.Thread(target=edit)
    thread.start()
    deadline = time.monotonic() + 10
    while not finished.is_set() and time.monotonic() < deadline:
        for pair in [(97, 98), (98, 97), (10, 97)]:
            for _, tokens, end in corpus.candidates(pair, 10_000, excluded=corpus.run_at("x", 75)):
                assert tuple(tokens[end - 2 : end]) == pair
    thread.join(10)
    assert not faults
    assert corpus.num_tokens == 200 * 5
