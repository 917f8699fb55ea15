from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafting.context_index import ContextIndex
from drafting.context_lexemes import ContextLexemes
from drafting.corpus import Corpus
from drafting.interface import Draft
from drafting.lines import split_lines
from drafting.lookup import LookupDrafter
from drafting.seam import Seam
from drafting.syntax_drafter import SyntaxDrafter
from tests.fakes import byte_tokenizer

BYTES = byte_tokenizer()
WORDS = ("self", ".width", " =", " width", ".height", " height", "\n    ", ".", "he", "ight")
"""A tokenizer with some words; it takes the longest."""


def word_encode(text: str) -> list[int]:
    tokens: list[int] = []
    while text:
        word = max((word for word in WORDS if text.startswith(word)), key=len, default="")
        tokens.extend([256 + WORDS.index(word)] if word else text[0].encode())
        text = text[len(word or text[0]) :]
    return tokens


def word_bytes(token: int) -> bytes:
    return WORDS[token - 256].encode() if token >= 256 else bytes((token,))


def byte_drafter(*buffers: str) -> SyntaxDrafter:
    corpus = Corpus(BYTES.encode)
    for number, text in enumerate(buffers):
        corpus.open(f"{number}.py", split_lines(text), language="python")
    keywords = corpus.syntax.keywords("python")
    seam = Seam(BYTES.encode, BYTES.token_bytes)
    return SyntaxDrafter(ContextLexemes(BYTES.token_bytes, keywords), seam, corpus)


def drafted(text: str, *buffers: str, gamma: int = 32) -> tuple[str, str]:
    draft = byte_drafter(*buffers).draft(BYTES.encode(text), gamma)
    return BYTES.decode(draft.tokens), draft.source


def test_a_name_in_the_making_goes_on_under_its_own_name() -> None:
    text = "def __init__(self, width, height):\n    self.width = width\n    self.he"
    buffer = "def __init__(self, x, y):\n    self.x = x\n    self.y = y\n"
    assert drafted(text, buffer) == ("ight = height\n", "renamed")


def test_an_exact_match_goes_on_as_it_stands() -> None:
    assert drafted("    return con", "def f():\n    return config\n", gamma=4) == ("fig\n", "lookup")


def test_the_text_is_its_own_source_of_renamed_matches() -> None:
    text = "def width(a): return a._width\n\ndef edge(b): return b"
    assert drafted(text, gamma=6) == ("._edge", "renamed")


def test_where_exact_matches_are_sure_no_other_names_are_tried() -> None:
    text = "def width(a): return a._width\n\ndef edge(b): return"
    assert drafted(text, gamma=8) == (" a._widt", "lookup")


def test_two_drafts_that_begin_otherwise_are_kept() -> None:
    first, second = byte_drafter("#ab1\n#ab1\nab2\n").candidates(BYTES.encode("#ab"), 1)
    assert (BYTES.decode(first.tokens), BYTES.decode(second.tokens)) == ("1", "2")
    assert 10 > first.bucket > second.bucket >= 0


def test_nothing_is_drafted_without_a_match_or_without_room() -> None:
    drafter = byte_drafter()
    assert drafter.draft(BYTES.encode("abcdef"), 8) == Draft()
    assert drafter.draft(BYTES.encode("abab"), 0) == Draft()
    assert drafter.draft([], 8) == Draft()


def test_a_draft_says_how_much_of_it_is_the_statement() -> None:
    corpus = Corpus(BYTES.encode, BYTES.token_bytes)
    corpus.open("a.py", split_lines("value = config\nother = 1\n"), language="python")
    drafter = LookupDrafter(ContextIndex(), corpus)
    draft = drafter.draft(BYTES.encode("value = con"), 8)
    assert (BYTES.decode(draft.tokens), draft.statement) == ("fig\nothe", 3)


TEXTS = st.lists(
    st.sampled_from(["self.", "a", "b1", " = ", "(", ")", "\n    ", "\n", "if ", "日本", "é", "🙂", "12", ", "]),
    max_size=40,
).map("".join)


@given(TEXTS, TEXTS, st.data())
@settings(max_examples=60, deadline=None)
@pytest.mark.trap(32)
def test_a_draft_depends_on_the_text_alone_not_on_how_it_came_about(
    text: str, buffer: str, data: st.DataObject
) -> None:
    """Tokens are bytes: the text breaks off inside characters as well, and drafts that were refused leave no trace."""
    tokens = BYTES.encode(text + text)
    step_by_step = byte_drafter(buffer)
    ends = sorted(data.draw(st.lists(st.integers(1, max(1, len(tokens))), max_size=8)))
    for start, end in pairwise([0, *ends]):
        refused = data.draw(st.lists(st.integers(0, 255), max_size=5))
        step_by_step.candidates([*tokens[:start], *refused], 8)
        at_once = byte_drafter(buffer)
        assert step_by_step.candidates(tokens[:end], 8) == at_once.candidates(tokens[:end], 8)


def test_a_renamed_draft_is_written_in_the_tokens_of_the_whole_text() -> None:
    whole = word_encode("def a(width, height):\n    self.width = width\n  self.height = height\n    ")
    context = word_encode("def a(width, height):\n    self.width = width\n  self")
    assert whole[: len(context)] == context
    corpus = Corpus(word_encode)
    corpus.open("a", split_lines("def b(x, y):\n    me.x = x\n    me.y = y\n    me.z"))
    lexemes = ContextLexemes(word_bytes)
    drafter = SyntaxDrafter(lexemes, Seam(word_encode, word_bytes), corpus)
    renamed = next(draft for draft in drafter.candidates(context, 4) if draft.source == "renamed")
    assert renamed.tokens == tuple(whole[len(context) :][:3])


def test_tokens_that_the_tokenizer_would_not_have_written_so_are_not_gone_on_with() -> None:
    seam = Seam(word_encode, word_bytes)
    before = seam.before(word_encode("self."), 0)
    assert before == (".", (256 + WORDS.index("."),))
    assert seam.after(before, "height") == (), "`.height` is one token"
    assert seam.after(before, "x") == (ord("x"),)


def test_a_seam_reaches_back_to_where_the_word_begins() -> None:
    seam = Seam(word_encode, word_bytes)
    assert seam.before(word_encode("(x1y"), 3) == ("x1y", tuple(b"x1y"))
    assert seam.before("é".encode()[1:], 1) == ("", ())
