from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from drafting.ngram_index import NgramIndex

SEQUENCE = st.lists(st.integers(0, 3), max_size=12)
PAIRS = [(first, second) for first in range(4) for second in range(4)]


@given(st.lists(st.tuples(st.booleans(), SEQUENCE), max_size=20), st.randoms(use_true_random=False))
def test_finds_what_is_held_newest_and_last_first_and_nothing_else(
    script: list[tuple[bool, list[int]]], random: Random
) -> None:
    index = NgramIndex()
    held: dict[int, list[int]] = {}
    for adds, tokens in script:
        if adds or not held:
            held[index.add(tokens)] = tokens
        else:
            number = random.choice(list(held))
            index.remove(number)
            del held[number]
    assert index.num_tokens == sum(map(len, held.values()))
    for pair in PAIRS:
        naive = [
            (number, held[number], position)
            for number in sorted(held, reverse=True)
            for position in reversed(range(2, len(held[number]) + 1))
            if tuple(held[number][position - 2 : position]) == pair
        ]
        assert list(index.candidates(pair, 1000)) == naive
        assert list(index.candidates(pair, 3)) == naive[:3]


def test_a_number_is_never_used_twice() -> None:
    index = NgramIndex()
    first = index.add([1, 2])
    index.remove(first)
    assert index.add([1, 2]) != first


def test_nothing_is_left_of_what_was_removed() -> None:
    index = NgramIndex()
    tokens = [1, 1, 1, 2, 1]
    number = index.add(tokens)
    index.remove(number)
    assert index.num_tokens == 0
    assert not any(list(index.candidates(pair, 9)) for pair in pairwise(tokens))


def test_a_sequence_can_be_left_out_without_using_up_the_limit() -> None:
    index = NgramIndex()
    older = index.add([1, 2, 3])
    newer = index.add([1, 2] * 40)
    assert [number for number, _, _ in index.candidates((1, 2), 32, excluded=newer)] == [older]
