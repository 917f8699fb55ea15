import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from drafting import exact, lookup
from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import Draft
from drafting.lookup import LookupDrafter


def encode(text: str) -> list[int]:
    return [ord(character) for character in text]


def drafted(context: str, *buffers: str, gamma: int = 8, excluded: int | None = None) -> str:
    corpus = Corpus(encode)
    for number, text in enumerate(buffers):
        corpus.open(f"buffer {number}", text.splitlines(keepends=True))
    drafter = LookupDrafter(ContextIndex(), corpus, excluded_run=excluded)
    return "".join(map(chr, drafter.draft(encode(context), gamma).tokens))


def test_drafts_what_followed_the_same_tokens_in_the_text_itself() -> None:
    assert drafted("self.width = width; self.w") == "idth = w"


def test_drafts_from_an_open_buffer() -> None:
    assert drafted("    return con", "def f():\n    return config\n", gamma=4) == "fig\n"


def test_the_longest_match_wins_over_a_more_recent_one() -> None:
    assert drafted("value = re", "old value = result\n", "new re-use\n", gamma=6) == "sult\n"


def test_the_context_wins_over_a_buffer_among_equals() -> None:
    assert drafted("#ab1 @ab", "~ab2\n", gamma=1) == "1"


def test_the_latest_place_in_the_context_wins_among_equals() -> None:
    assert drafted("#ab1 @ab2 ~ab", gamma=1) == "2"


def test_the_most_recently_edited_buffer_wins_among_equals() -> None:
    assert drafted("#ab", "ab1\n", "ab2\n", gamma=1) == "2"
    corpus = Corpus(encode)
    corpus.open("first", ["ab1\n"])
    corpus.open("second", ["ab2\n"])
    corpus.edit("first", 0, 1, ["ab3\n"])
    assert LookupDrafter(ContextIndex(), corpus).draft(encode("#ab"), 1).tokens == tuple(encode("3"))


def test_the_last_place_in_a_buffer_wins_among_equals() -> None:
    assert drafted("#ab", "~ab1\n@ab2\n", gamma=1) == "2"


def test_a_match_at_the_very_end_of_a_buffer_hides_no_other() -> None:
    assert drafted("#1ab", "ab2\n", "#1ab", gamma=1) == "2"


def test_a_match_ends_where_its_buffer_begins() -> None:
    assert drafted("xab", "ab1x", "yab2", gamma=1) == "2", "the end of a buffer does not stand before its beginning"


def test_nothing_is_drafted_without_a_match_or_without_room() -> None:
    nothing = Draft()
    drafter = LookupDrafter(ContextIndex(), Corpus(encode))
    assert drafter.draft(encode("abcdef"), 8) == nothing
    assert drafter.draft(encode("abab"), 0) == nothing
    assert drafter.draft(encode("a"), 8) == nothing
    assert drafter.draft([], 8) == nothing


def test_the_lines_around_the_cursor_can_be_left_out_and_hide_no_others() -> None:
    # 32 matches right around the cursor used up the limit, and the other buffers were never looked at
    corpus = Corpus(encode)
    corpus.open("other", ["ab1\n"])
    corpus.open("here", ["ab2 " * 40])
    here = corpus.run_at("here", 0)
    assert LookupDrafter(ContextIndex(), corpus, excluded_run=here).draft(encode("#ab"), 1).tokens == (ord("1"),)
    assert LookupDrafter(ContextIndex(), corpus).draft(encode("#ab"), 1).tokens == (ord("2"),)


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(0, 10))
def test_what_is_drafted_followed_the_longest_of_the_recent_matches(context: list[int], gamma: int) -> None:
    draft = LookupDrafter(ContextIndex()).draft(context, gamma)
    assert len(draft.tokens) <= gamma
    ends = [end for end in range(len(context) - 1, 1, -1) if context[end - 2 : end] == context[-2:]]
    if not ends or gamma == 0:
        assert not draft.tokens
        return
    recent = ends[: lookup.MAX_CANDIDATES]
    best = max(recent, key=lambda end: (naive_match(context, end), end))
    assert list(draft.tokens) == [context[best:][i % (len(context) - best)] for i in range(gamma)]


def naive_match(context: Sequence[int], end: int) -> int:
    length = 0
    while length < min(end, exact.MAX_MATCH) and context[end - 1 - length] == context[-1 - length]:
        length += 1
    return length


def test_a_draft_is_quick_even_where_everything_matches() -> None:
    corpus = Corpus(encode)
    for number in range(20):
        corpus.open(str(number), ["a" * 4000 + "\n"] * 2)
    context = encode("ba" * 500)
    drafter = LookupDrafter(ContextIndex(), corpus)
    drafter.draft(context, 8)
    started = time.perf_counter()
    for _ in range(50):
        drafter.draft(context, 8)
    assert time.perf_counter() - started < 0.25, "50 drafts among 160,000 equal tokens stay well under 5 ms each"


def test_a_repetition_at_the_end_of_the_context_goes_on() -> None:
    """It used to end with the context: `7 7 7` was continued by one 7, however long the draft might be."""
    assert LookupDrafter(ContextIndex()).draft([1, 2, 9, 1, 2, 9, 1, 2], 8).tokens == (9, 1, 2, 9, 1, 2, 9, 1)
    assert LookupDrafter(ContextIndex()).draft([7, 7, 7], 4).tokens == (7, 7, 7, 7)
