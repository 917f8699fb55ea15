import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafting.prefix_cache import PrefixCache, common_prefix
from tests.fakes import NumpyModel

TOKENS = st.lists(st.integers(0, 3), max_size=40)


@given(TOKENS, TOKENS, st.integers(0, 40))
def test_common_prefix_is_the_naive_one(left: list[int], right: list[int], shared: int) -> None:
    right = left[:shared] + right
    naive = next((i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    assert common_prefix(left, right) == (min(len(left), len(right)) if naive is None else naive)


def test_common_prefix_does_not_depend_on_the_kind_of_sequence() -> None:
    # a prompt is a tuple and the cache a list: comparing their slices found nothing in common, and every keystroke
    # evaluated the whole prompt again
    assert common_prefix([1, 2, 3], (1, 2, 4)) == 2
    assert common_prefix((1, 2, 3), [1, 2, 3]) == 3


@given(st.lists(TOKENS, max_size=6))
def test_following_sequences_always_leaves_the_model_with_what_was_asked(sequences: list[list[int]]) -> None:
    model = NumpyModel(vocabulary=4)
    cache = PrefixCache(model)
    for sequence in sequences:
        kept = cache.keep(sequence)
        if sequence[kept:]:
            logits = cache.extend(sequence[kept:])
            assert np.array_equal(logits[-1], model.row(sequence))
        assert model.held == list(cache.tokens) == sequence
        assert cache.room == model.context_length - len(sequence)


def test_what_two_sequences_share_is_evaluated_once() -> None:
    model = NumpyModel()
    cache = PrefixCache(model)
    cache.extend([1, 2, 3, 4])
    assert cache.keep((1, 2, 9)) == 2
    cache.extend([9])
    assert model.blocks == [4, 1]


def test_a_failing_model_leaves_the_known_tokens_as_they_were() -> None:
    model = NumpyModel()
    cache = PrefixCache(model)
    cache.extend([1, 2, 3])
    model.fault = MemoryError("no memory")
    with pytest.raises(MemoryError):
        cache.extend([4, 5])
    assert list(cache.tokens) == model.held == [1, 2, 3]


def test_rewinding_forwards_is_no_change() -> None:
    model = NumpyModel()
    cache = PrefixCache(model)
    cache.extend([1, 2, 3])
    cache.rewind(7)
    assert list(cache.tokens) == model.held == [1, 2, 3]
