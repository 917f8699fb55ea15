"""The verdict on two greedy texts."""

from collections.abc import Sequence

import numpy as np
import pytest

from decoder.bench.identity import compare, is_looping
from drafting.interface import Array

LOGITS: dict[tuple[int, ...], list[float]] = {(): [0.0, 2.0, 1.9, -5.0]}
"""By the tokens after the context; elsewhere token 3 is far ahead. 1 is the greedy choice at first, 2 nearly ties."""


def next_logits(context: Sequence[int]) -> Array:
    return np.array(LOGITS.get(tuple(context[1:]), [0.0, 0.0, 0.0, 9.0]), dtype=np.float32)


def continue_plain(context: Sequence[int], num_tokens: int) -> Sequence[int]:
    text = list(context)
    for _ in range(num_tokens):
        text.append(int(next_logits(text).argmax()))
    return text[len(context) :]


def verdict(other: Sequence[int], margin: float = 0.5) -> str:
    return compare(
        [1, 3, 3], other, [0], num_tokens=3, next_logits=next_logits, continue_plain=continue_plain, margin=margin
    )


@pytest.mark.parametrize(
    ("other", "margin", "expected"),
    [
        ([1, 3, 3], 0.5, "identical"),
        ([2, 3, 3], 0.5, "tie_break"),
        ([2, 3, 3], 0.05, "diverged"),
        ([2, 1, 3], 0.5, "diverged"),
        ([3, 3, 3], 0.5, "diverged"),
        ([1, 3], 0.5, "diverged"),
        ([1, 3, 3, 3], 0.5, "diverged"),
        ([2, 3], 0.5, "diverged"),  # cut short: what followed a near-tie was compared only as far as it went
        ([2, 3, 3, 3], 0.5, "diverged"),
    ],
)
@pytest.mark.trap(10)
def test_texts_part_only_at_a_near_tie_and_follow_plain_decoding_from_there(
    other: list[int], margin: float, expected: str
) -> None:
    assert verdict(other, margin) == expected


def test_a_text_that_repeats_itself_is_looping() -> None:
    assert is_looping([1, 2, 3] * 5)
    assert not is_looping([*range(10), 1, 2])
    assert not is_looping([])
