import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafting.context_index import RECENT, ContextIndex

TOKENS = st.lists(st.integers(0, 2), max_size=30)


@given(st.lists(st.tuples(st.integers(0, 30), TOKENS), max_size=8), st.integers(0, 40))
@pytest.mark.trap(32)
def test_following_equals_an_index_built_anew(changes: list[tuple[int, list[int]]], limit: int) -> None:
    followed = ContextIndex()
    tokens: list[int] = []
    for kept, added in changes:
        by = followed if kept % 3 == 0 and len(tokens) - kept <= RECENT else None
        tokens = tokens[:kept] + added
        followed.follow(tuple(tokens) if kept % 2 else tokens, by=by)
        rebuilt = ContextIndex()
        rebuilt.follow(tokens)
        assert followed.tokens == tokens
        found = list(followed.pairs(limit))
        assert found == list(rebuilt.pairs(limit))
        assert found == [end for end in range(len(tokens) - 1, 1, -1) if tokens[end - 2 : end] == tokens[-2:]][:limit]
        singles = [end for end in range(len(tokens) - 1, 0, -1) if tokens[end - 1] == tokens[-1]]
        assert list(followed.singles(limit)) == list(rebuilt.singles(limit)) == singles[:limit]


def test_following_tells_how_much_stayed() -> None:
    index = ContextIndex()
    assert index.follow([1, 2, 3, 4]) == 0
    assert index.follow([1, 2, 3, 4, 5]) == 4
    assert index.follow([1, 2, 9], by=index) == 2
    assert index.follow([1, 2, 9, 8], by=index) == 3


def test_an_index_does_not_change_with_the_list_it_was_given() -> None:
    index = ContextIndex()
    tokens = [1, 2, 1, 2]
    index.follow(tokens)
    tokens.clear()
    assert list(index.pairs(9)) == [2]


def test_following_a_growing_text_costs_what_was_added() -> None:
    index = ContextIndex()
    text = [token % 50 for token in range(20_000)]
    index.follow(text)
    started = time.perf_counter()
    for token in range(50):
        text.append(token)
        index.follow(text, by=index)
    assert time.perf_counter() - started < 0.25, "an index over 20,000 tokens follows one token well under 5 ms"


def test_a_sequence_in_between_is_noticed() -> None:
    """Two requests may take turns: the second one's text is not taken for the first one's."""
    index = ContextIndex()
    first, second = [1] * 200, [2] * 200
    index.follow(first, by="first")
    index.follow(second, by="second")
    assert index.follow([*first, 3], by="first") == 0
    assert index.tokens == [*first, 3]
