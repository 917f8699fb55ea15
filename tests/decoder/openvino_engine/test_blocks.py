"""Block bookkeeping against the plainest model of it: an array of what was written where."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.openvino_engine.blocks import BLOCK, PagedSequence

NUM_BLOCKS = 9


class Memory:
    """A paged sequence, and the tokens that its blocks would hold keys of."""

    def __init__(self, num_blocks: int = NUM_BLOCKS) -> None:
        self.sequence = PagedSequence(num_blocks)
        self.blocks = [[-1] * BLOCK for _ in range(num_blocks)]

    def extend(self, tokens: Sequence[int], padding: int = 0) -> None:
        held = len(self.sequence.tokens)
        for source, target in self.sequence.reserve(held + len(tokens) + padding):
            self.blocks[target] = list(self.blocks[source])
        for place, token in enumerate([*tokens, *[-9] * padding], start=held):
            self.blocks[self.sequence.table[place // BLOCK]][place % BLOCK] = token
        self.sequence.tokens.extend(tokens)

    def follow(self, text: Sequence[int], padding: int = 0) -> int:
        """As a request does: recall what is known, evaluate the rest. Returns how many were known."""
        known = self.sequence.recall(text)
        assert list(text[:known]) == self.sequence.tokens
        if known < len(text):
            self.extend(text[known:], padding)
        return known

    def account(self) -> None:
        """Every block is in one place, and what can be found holds what it stands for."""
        sequence = self.sequence
        places = [*sequence.table, *sequence._free, *sequence._idle]
        assert sorted(places) == list(range(len(self.blocks)))
        assert {block: key for key, block in sequence._found.items()} == sequence._sealed
        assert set(sequence._idle) <= set(sequence._sealed)
        assert set(sequence._free).isdisjoint(sequence._sealed)

    def read(self) -> list[int]:
        length = len(self.sequence.tokens)
        return [self.blocks[self.sequence.table[place // BLOCK]][place % BLOCK] for place in range(length)]


texts = st.builds(
    lambda base, length, tail: [*([base] * length), *tail],
    st.integers(0, 2),
    st.integers(0, 3 * BLOCK),
    st.lists(st.integers(3, 5), max_size=2 * BLOCK),
)


@given(st.lists(st.tuples(texts, st.integers(0, 8), st.integers(0, 40), st.booleans()), max_size=12))
def test_whatever_is_followed_the_memory_holds_it(steps: list[tuple[list[int], int, int, bool]]) -> None:
    memory = Memory()
    for text, padding, taken_back, recalled in steps:
        if not recalled:  # what is held already is written once more, elsewhere
            memory.sequence.rewind(0)
            memory.extend(text, padding)
        memory.follow(text, padding)
        assert memory.read() == text
        memory.sequence.rewind(max(0, len(text) - taken_back))
        assert memory.read() == memory.sequence.tokens
        memory.account()


def test_a_document_left_and_come_back_to_is_still_known() -> None:
    memory = Memory()
    first, second = list(range(100)), list(range(200, 290))
    assert memory.follow(first) == 0
    assert memory.follow(second) == 0
    assert memory.follow(first) == 96  # whole blocks
    assert memory.follow(second) == 64


def test_a_common_beginning_is_shared_not_copied() -> None:
    memory = Memory()
    memory.follow([1] * 64 + [2] * 40)
    beginning = memory.sequence.table[:2]
    memory.follow([7] * 10)
    assert memory.follow([1] * 64 + [3] * 40) == 64
    assert memory.sequence.table[:2] == beginning


def test_writing_into_a_shared_block_leaves_the_shared_one_alone() -> None:
    memory = Memory()
    first = list(range(64))
    memory.follow(first)
    memory.follow([9] * 5)
    memory.follow(first)
    memory.sequence.rewind(40)
    memory.extend([77] * 4)
    assert memory.read() == [*first[:40], 77, 77, 77, 77]
    memory.follow([9] * 5)
    assert memory.follow(first) == 64
    assert memory.read() == first


def test_what_is_held_twice_is_left_alone_too() -> None:
    memory = Memory()
    first = list(range(64))
    memory.follow(first)
    memory.follow([9] * 72)
    memory.sequence.rewind(0)
    second = [*first[:32], *[7] * 40]
    memory.extend(second)  # its first block is known, and may be written to; its second one is not yet
    memory.sequence.recall(first[:10])
    memory.extend([5] * 60)
    assert memory.follow(second) == 64
    assert memory.read() == second
    memory.account()


def test_the_least_recently_used_goes_first_and_from_its_end() -> None:
    memory = Memory()
    old, young = list(range(96)), list(range(100, 196))
    memory.follow(old)
    memory.follow(young)
    memory.follow(list(range(200, 328)))  # 4 of 9 blocks, 3 were free
    assert memory.follow(young) == 96
    assert memory.follow(old) == 64


def test_typing_on_for_long_pushes_no_other_document_out() -> None:
    # the rejected text of each keystroke was kept as the most recent, and a document was gone after a few of them
    memory = Memory()
    other, prompt = list(range(96)), list(range(100, 164))
    memory.follow(other)
    for keystroke in range(50):
        memory.follow([*prompt, *range(200, 200 + keystroke % 20)])
        memory.extend([1000 + keystroke] * 40)
    assert memory.follow(other) == 96


def test_rewinding_touches_no_block() -> None:
    memory = Memory()
    memory.follow(list(range(100)))
    table = list(memory.sequence.table)
    memory.sequence.rewind(3)
    assert memory.sequence.table == table


def test_a_sequence_longer_than_the_memory_is_an_error_that_leaves_it_usable() -> None:
    memory = Memory(2)
    memory.follow([1] * 40)
    with pytest.raises(MemoryError, match="65 tokens do not fit into 2 blocks of 32"):
        memory.sequence.reserve(2 * BLOCK + 1)
    memory.extend([2] * 10)
    assert memory.read() == [1] * 40 + [2] * 10


def test_a_shared_block_is_still_there_after_that_error() -> None:
    memory = Memory(2)
    first = list(range(64))
    memory.follow(first)
    memory.sequence.recall([*first[:40], 7])
    with pytest.raises(MemoryError):
        memory.extend([7] * 25)
    assert memory.read() == first[:40]
    memory.extend([7] * 24)
    assert memory.read() == [*first[:40], *[7] * 24]
    memory.account()


def test_a_sequence_that_grows_back_finds_its_old_end() -> None:
    memory = Memory()
    first = list(range(100))
    memory.follow(first)
    memory.follow([9] * 5)
    memory.follow(first[:10])
    assert memory.follow(first) == 96


def test_the_whole_of_a_text_may_be_known() -> None:
    memory = Memory()
    first = list(range(100))
    memory.follow(first)
    assert memory.sequence.recall(tuple(first)) == 100
    assert memory.sequence.recall(first[:64]) == 64
    assert memory.sequence.recall([]) == 0
    assert memory.sequence.recall(first) == 96
