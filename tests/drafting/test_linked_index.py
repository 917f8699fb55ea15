from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from drafting.linked_index import LinkedIndex

KEYS = st.lists(st.integers(0, 4), max_size=8)


def reference(sequences: Mapping[int, Sequence[int]], key: int) -> list[tuple[int, int]]:
    return [
        (number, position)
        for number, keys in reversed(list(sequences.items()))
        for position in reversed(range(len(keys)))
        if keys[position] == key
    ]


@given(st.lists(st.one_of(KEYS, st.integers(0, 9)), max_size=20))
def test_it_finds_every_occurrence_of_what_was_added_and_not_removed_the_latest_first(
    script: list[list[int] | int],
) -> None:
    index, sequences = LinkedIndex(), dict[int, list[int]]()
    for number, step in enumerate(script):
        if isinstance(step, list):
            sequences[number] = step
            index.add(number, step)
        elif sequences:
            removed = list(sequences)[step % len(sequences)]
            index.remove(removed, sequences.pop(removed))
        for key in range(5):
            assert index.latest(key, 999) == reference(sequences, key)


def test_a_sequence_that_is_left_out_does_not_use_up_the_limit() -> None:
    index = LinkedIndex()
    for number in range(3):
        index.add(number, [7, 7, 8])
    assert index.latest(7, 3, excluded=2) == [(1, 1), (1, 0), (0, 1)]


def test_numbers_may_grow_for_years() -> None:
    index = LinkedIndex()
    index.add(2**42, [7, 7])
    index.add(2**42 + 1, [7])
    assert index.latest(7, 9) == [(2**42 + 1, 0), (2**42, 1), (2**42, 0)]
    index.remove(2**42, [7, 7])
    assert index.latest(7, 9) == [(2**42 + 1, 0)]
