import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafting.prefix_cache import PrefixCache, common_prefix, prefill
from tests.drafting.remembering import Remembering
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


@given(TOKENS, TOKENS, st.integers(1, 8))
def test_a_prefill_comes_in_passes_and_ends_at_what_was_asked(held: list[int], asked: list[int], rows: int) -> None:
    model = NumpyModel(vocabulary=4)
    cache = PrefixCache(model)
    list(prefill(cache, held))
    model.max_rows = rows
    model.blocks.clear()
    done = list(prefill(cache, asked))
    assert model.held == list(cache.tokens) == asked
    assert max(model.blocks, default=0) <= rows
    assert len(done) == len(model.blocks)
    assert sum(model.blocks) == len(asked) - common_prefix(held, asked)


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


@given(st.lists(st.tuples(TOKENS, st.integers(0, 40)), max_size=8))
def test_resuming_always_leaves_the_model_with_what_was_asked(steps: list[tuple[list[int], int]]) -> None:
    for model in (NumpyModel(vocabulary=4), Remembering()):
        cache = PrefixCache(model)
        for sequence, rewound in steps:
            kept = cache.resume(tuple(sequence))
            assert model.held == list(cache.tokens) == sequence[:kept]
            if sequence[kept:]:
                assert np.array_equal(cache.extend(sequence[kept:])[-1], model.row(sequence))
            assert model.held == list(cache.tokens) == sequence
            cache.rewind(rewound)


def test_a_sequence_resumed_is_not_evaluated_again() -> None:
    model = Remembering()
    cache = PrefixCache(model)
    for sequence, kept in (([1, 2, 3, 0, 1], 0), ([2, 2, 2], 0), ([1, 2, 3, 0, 2], 4), ([1, 2, 3, 1], 3)):
        assert cache.resume(sequence) == kept
        cache.extend(sequence[kept:])
    assert model.blocks == [5, 3, 1, 1]


def test_what_is_forgotten_is_evaluated_again() -> None:
    model = Remembering()
    cache = PrefixCache(model)
    for sequence in ([1, 2, 3, 0], [2, 2]):
        cache.extend(sequence[cache.resume(sequence) :])
    cache.forget()
    assert list(cache.tokens) == []
    assert (cache.resume([1, 2, 3, 0]), cache.resume([2, 2])) == (0, 0)


def test_a_model_that_remembers_nothing_resumes_what_it_has_in_common_with_the_last_sequence() -> None:
    cache = PrefixCache(NumpyModel())
    for sequence, kept in (([1, 2, 3, 0, 1], 0), ([1, 2], 2), ([1, 2, 3], 2), ([5], 0), ([1, 2], 0)):
        assert cache.resume(sequence) == kept
        if sequence[kept:]:
            cache.extend(sequence[kept:])
