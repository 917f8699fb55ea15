import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafting import corpus as corpus_module
from drafting import cutting, document
from drafting.corpus import Corpus
from drafting.passage import Passage
from drafting.screening import MAX_BUFFER_CHARACTERS
from drafting.syntax import Syntax
from drafting.syntax_tree import SyntaxTree, num_bytes

LINES_OF = {
    "plaintext": ["aaab\n", "ab cd\n", "\n", "dcba\r", "b\r\n", "é\n", "a b c d e f g h\n"],
    "python": [
        "def f(a, b):\n", "    return a + b\n", "\n", "# né\n", "class C:\n", "x = [\n", "]\n", '"""\n', "@d\n",
        "    def g(self):\n", "        self.a.b(c)\n", "  else:\r", "y = 1\r\n",
    ],
    "json": ["{\n", '"a": 1,\n', '"b": [\n', "],\n", "}\n", "\n", "[[1, 2],\n", '"\n'],
}  # fmt: skip
LINES = {language: st.lists(st.sampled_from(lines), max_size=30) for language, lines in LINES_OF.items()}
EDIT = st.sampled_from(list(LINES)).flatmap(
    lambda language: st.tuples(st.just(language), st.integers(0, 40), st.integers(0, 12), LINES[language])
)
Found = Counter[tuple[str, int]]


def encode(text: str) -> list[int]:
    return [ord(character) for character in text]


def spell(token: int) -> bytes:
    return chr(token).encode()


def written(passage: Passage) -> str:
    return "".join(map(chr, passage.tokens))


class Checker:
    """Knows every pair and window that was ever written, and searches for all of them."""

    def __init__(self) -> None:
        self._pairs: set[tuple[int, int]] = set()
        self._windows: set[tuple[int, int, int, int]] = set()

    def check(self, corpus: Corpus, documents: dict[str, list[str]]) -> None:
        """The corpus finds exactly what is written now, passage by passage."""
        pairs, windows = Counter[tuple[str, int, int]](), Counter[tuple[str, int, int]]()
        for name, lines in documents.items():
            for number, group in groupby(range(len(lines)), key=lambda line: corpus.run_at(name, line)):
                assert number is not None
                passage = corpus.passage(number)
                assert passage is not None
                assert written(passage) == "".join(lines[line] for line in group)
                assert passage.document == name
                tokens, symbols = passage.tokens, passage.lexemes.symbols
                assert len(passage.kinds) == len(passage.distances) == (len(tokens) if name != "plaintext" else 0)
                for end in range(2, len(tokens)):
                    self._pairs.add((tokens[end - 2], tokens[end - 1]))
                    pairs[name, id(passage), end] += 1
                for end in range(4, len(symbols)):
                    self._windows.add((symbols[end - 4], symbols[end - 3], symbols[end - 2], symbols[end - 1]))
                    windows[name, id(passage), end] += 1
        exact = (hit for pair in self._pairs for hit in corpus.exact(pair, 10_000))
        renamed = (hit for window in self._windows for hit in corpus.renamed(window, 10_000))
        assert Counter((passage.document, id(passage), end) for passage, end in exact) == pairs
        assert Counter((passage.document, id(passage), end) for passage, end in renamed) == windows
        assert corpus.num_tokens == sum(len(line) for lines in documents.values() for line in lines)


def texts(corpus: Corpus, *pairs: str) -> list[str]:
    """The passages in which one of these pairs is found, in the order of the search."""
    return [written(passage) for pair in pairs for passage, _ in corpus.exact((ord(pair[0]), ord(pair[1])), 100)]


def opened(lines: Sequence[str], *, language: str = "plaintext", name: str = "x") -> Corpus:
    corpus = Corpus(encode, spell)
    corpus.open(name, lines, language=language)
    return corpus


def pairs_within_lines(documents: dict[str, list[str]]) -> Counter[tuple[str, str]]:
    return Counter(pair for lines in documents.values() for line in lines for pair in pairwise(line))


@pytest.fixture
def small_runs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (cutting, document):
            patch.setattr(module, "RUN_CHARACTERS", 60)
            patch.setattr(module, "MAX_RUN_CHARACTERS", 100)
        patch.setattr(document, "MAX_REDONE_BYTES", 200)
        yield


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns thousands of times more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("small_runs")
@given(st.fixed_dictionaries(LINES), st.lists(EDIT, max_size=10))
@settings(deadline=None, max_examples=40)
@pytest.mark.trap(32)
def test_after_any_edits_it_finds_what_is_written_and_nothing_else(
    documents: dict[str, list[str]], edits: list[tuple[str, int, int, list[str]]]
) -> None:
    edited, checker = Corpus(encode, spell), Checker()
    for name, lines in documents.items():
        edited.open(name, lines, language=name)
    checker.check(edited, documents)
    for name, first, num_removed, inserted in edits:
        lines = documents[name]
        first = min(first, len(lines))
        num_removed = min(num_removed, len(lines) - first)
        lines[first : first + num_removed] = inserted
        edited.edit(name, first, num_removed, inserted)
        checker.check(edited, documents)
    rebuilt = Corpus(encode, spell)
    for name, lines in documents.items():
        rebuilt.open(name, lines, language=name)
    checker.check(rebuilt, documents)
    for name in documents:
        edited.close(name)
    checker.check(edited, {})


def test_typing_does_not_shred_a_document_into_tiny_runs() -> None:
    for language in ("plaintext", "python"):
        lines = ["abcd\n"] * 200
        corpus = opened(lines, language=language)
        for _ in range(100):
            corpus.edit("x", 100, 0, ["abc\n"])
            lines.insert(100, "abc\n")
        runs = {corpus.run_at("x", line) for line in range(len(lines))}
        assert sum(map(len, lines)) / len(runs) >= cutting.RUN_CHARACTERS / 6


def python_functions(count: int) -> list[str]:
    body = ["    total = 0\n", *["    total += argument * 2\n"] * 8, "    return total\n", "\n", "\n"]
    return [line for number in range(count) for line in (f"def function_{number}(argument):\n", *body)]


class CountedEncoding:
    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> list[int]:
        self.characters += len(text)
        return encode(text)


@pytest.mark.parametrize("language", ["python", "plaintext"])
@pytest.mark.parametrize("typed", ['    total = """\n', "def other(\n"])
def test_a_key_tokenises_only_what_is_around_it_even_if_the_text_is_broken_then(language: str, typed: str) -> None:
    counted = CountedEncoding()
    corpus = Corpus(counted, spell)
    lines = python_functions(100)
    corpus.open("x", lines, language=language)
    for end in range(1, len(typed), 2):
        counted.characters = 0
        corpus.edit("x", 603, 1, [typed[:end].rstrip("\n") + "\n"])
        assert counted.characters <= document.MAX_REDONE_BYTES + cutting.MAX_RUN_CHARACTERS


def test_a_key_parses_with_the_tree_of_before() -> None:
    functions = [["function f(a) {\n", *["  a += b;\n"] * 9, "}\n"] for _ in range(200)]
    lines = [line for function in functions for line in function]
    grammar = Syntax().grammar("javascript")
    assert grammar is not None
    tree = SyntaxTree(grammar, lines)
    before = {node.id for node in tree.root.children}
    removed, lines[1202] = lines[1202], "  abc += b;\n"
    changed = tree.edit(lines, first=1202, num_inserted=1, offset=num_bytes(lines[:1202]), removed=[removed])
    assert sum(node.id in before for node in tree.root.children) >= len(before) // 3  # the rest moved by some bytes
    assert all(1190 <= first <= last <= 1210 for first, last in changed)


def test_a_passage_is_a_definition_with_what_belongs_before_it() -> None:
    function = ["\n", "# Doubles.\n", "@cache\n", "def double(value):\n", *["    value = value + 0\n"] * 25, "\n"]
    lines = ["import os\n", *["x = 1\n"] * 20, *function, *["y = 2\n"] * 20]
    corpus = opened(lines, language="python")
    number = corpus.run_at("x", 30)
    assert number is not None
    passage = corpus.passage(number)
    assert passage is not None
    assert written(passage) == "".join(function[:-1])
    assert passage.construct == "decorated_definition"
    assert corpus.run_at("x", 0) != number != corpus.run_at("x", len(lines) - 1)


def test_a_closed_or_reopened_document_leaves_nothing_behind() -> None:
    corpus = opened(["aaaa\n"])
    corpus.open("x", ["bbbb\n"])
    assert texts(corpus, "aa") == []
    assert set(texts(corpus, "bb")) == {"bbbb\n"}
    corpus.close("x")
    corpus.close("x")
    corpus.edit("x", 0, 1, ["cccc\n"])
    assert corpus.num_tokens == 0
    assert texts(corpus, "aa", "bb", "cc") == []
    assert corpus.run_at("x", 0) is None


def test_the_most_recently_edited_document_is_found_first_in_all_its_passages() -> None:
    corpus = opened(["abc 1\n", *["x\n"] * 300], name="first")
    corpus.open("second", ["abc 2\n"])
    assert texts(corpus, "bc") == ["abc 2\n", texts(corpus, "bc")[1]]
    corpus.edit("first", 290, 1, ["y\n"])
    assert texts(corpus, "bc")[1] == "abc 2\n"


def test_the_passage_at_the_cursor_is_left_out_and_hides_no_other() -> None:
    corpus = opened(["abc\n"], name="other")
    corpus.open("here", ["abc " * 100 + "\n"])
    here = corpus.run_at("here", 0)
    found = corpus.exact((ord("a"), ord("b")), 5, excluded=here)
    assert [(passage.document, position) for passage, position in found] == [("other", 2)]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["abcdefghi\n"] * (MAX_BUFFER_CHARACTERS // 10 + 1), "too large"),
        (["abc\0\n"], "binary"),
        (["\ufffd\ufffdabc\n"], "binary"),
        (["a" * 300_000 + "\n", "bcd\n"], "not written by hand"),
    ],
)
def test_what_nobody_writes_is_left_out_with_a_reason_until_an_edit_makes_it_fit(lines: list[str], reason: str) -> None:
    # a buffer that became too large by a paste was forgotten until it was opened again
    corpus = opened(["abc\n"])
    corpus.edit("x", 0, 0, lines)
    assert corpus.skipped["x"].startswith(reason)
    assert corpus.num_tokens == 0
    assert texts(corpus, "ab") == []
    corpus.edit("x", 0, len(lines), ["cba\n"])
    assert not corpus.skipped
    assert "".join(texts(corpus, "ab", "cb")) == "cba\nabc\n" * 2
    assert opened(lines).skipped["x"].startswith(reason)


def test_a_long_line_is_indexed_up_to_a_limit() -> None:
    corpus = opened(["a" * 9_000 + "\n", *["bcd bcd bcd\n"] * 1000])
    assert corpus.num_tokens == 8_000 + 12 * 1000


def test_a_skipped_document_is_forgotten_and_says_why() -> None:
    corpus = opened(["abc\n"])
    corpus.skip("x", "excluded by the settings")
    corpus.edit("x", 0, 1, ["abcd\n"])
    assert corpus.skipped == {"x": "excluded by the settings"}
    assert texts(corpus, "ab") == []
    corpus.open("x", ["abc\n"])
    assert not corpus.skipped


def test_the_least_recently_edited_documents_make_room_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    # a document that had made room came back only when it was opened again
    monkeypatch.setattr(corpus_module, "MAX_CORPUS_TOKENS", 40)
    corpus = opened(["aaaaaaaaa\n"], name="first")
    corpus.open("second", ["bbbbbbbbb\n"])
    corpus.open("third", ["ccccccccc\n"])
    corpus.edit("first", 0, 1, ["aaaaaaaa\n"])
    corpus.open("fourth", ["ddddddddddddddd\n"])
    assert corpus.num_tokens <= 40
    assert corpus.skipped == {"second": corpus_module.NO_ROOM}
    assert set(texts(corpus, "aa", "bb", "cc", "dd")) == {"aaaaaaaa\n", "ccccccccc\n", "ddddddddddddddd\n"}
    corpus.edit("second", 0, 1, ["bbbbbbbb\n"])
    assert set(corpus.skipped) == {"third"}, "it was edited: another one makes room for it"
    corpus.close("fourth")
    assert not corpus.skipped, "there is room again"
    assert set(texts(corpus, "aa", "bb", "cc", "dd")) == {"aaaaaaaa\n", "bbbbbbbb\n", "ccccccccc\n"}


def test_opening_a_document_again_gives_its_room_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    # those without room were indexed for a moment, each time that the whole text came again
    monkeypatch.setattr(corpus_module, "MAX_CORPUS_TOKENS", 40)
    read: list[str] = []

    def listening(text: str) -> list[int]:
        read.append(text)
        return encode(text)

    corpus = Corpus(listening)
    corpus.open("first", ["a" * 29 + "\n"])
    corpus.open("second", ["b" * 29 + "\n"])
    read.clear()
    corpus.open("second", ["c" * 29 + "\n"])
    assert read == ["c" * 29 + "\n"]
    assert corpus.skipped == {"first": corpus_module.NO_ROOM}


def test_a_document_that_cannot_be_tokenised_is_left_out_not_left_stale() -> None:
    # the old text stayed in the index, and later edits were applied to the wrong lines
    def failing(text: str) -> list[int]:
        if "!" in text:
            raise ValueError(text)
        return encode(text)

    corpus = Corpus(failing)
    corpus.open("x", ["abcd\n"])
    with pytest.raises(ValueError, match="!"):
        corpus.edit("x", 0, 1, ["!\n"])
    assert texts(corpus, "ab") == []
    assert corpus.skipped == {"x": "cannot be indexed: !\n"}
    corpus.edit("x", 0, 1, ["abc\n"])
    assert texts(corpus, "ab") == ["abc\n"]


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.parametrize("language", ["plaintext", "python"])
def test_searching_while_edits_arrive_finds_only_whole_passages(language: str) -> None:
    corpus = opened(["abcd\n"] * 200, language=language)
    faults: list[BaseException] = []
    finished = threading.Event()

    def edit() -> None:
        try:
            for step in range(100):
                corpus.edit("x", step % 150, 1 + step % 3, ["dcba\n"] * (1 + step % 3))
        except BaseException as fault:
            faults.append(fault)
        finally:
            finished.set()

    thread = threading.Thread(target=edit)
    thread.start()
    deadline = time.monotonic() + 20
    while not finished.is_set() and time.monotonic() < deadline:
        for pair in [(97, 98), (98, 97), (10, 97)]:
            for passage, end in corpus.exact(pair, 10_000, excluded=corpus.run_at("x", 75)):
                assert tuple(passage.tokens[end - 2 : end]) == pair
    thread.join(20)
    assert not faults
    assert corpus.num_tokens == 200 * 5
