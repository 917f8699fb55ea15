"""Whether two greedy texts of one target are the same text."""

from collections.abc import Callable, Sequence
from typing import Literal

from drafting.interface import Array

Identity = Literal["identical", "tie_break", "diverged"]
Continue = Callable[[Sequence[int], int], Sequence[int]]
"""(context, number of tokens) -> the plain greedy text."""

TIE_MARGIN = {"float32": 1e-3, "bfloat16": 0.5, "float16": 0.5, "int8": 0.5, "int4": 0.5}
"""Logits closer than this may change places between a forward of one row and one of several: the order of summation
differs. In bfloat16 a logit of 16 to 32 has a last place of 0.125, and one-row forwards were seen 0.4 apart."""


def compare(
    plain: Sequence[int],
    other: Sequence[int],
    context: Sequence[int],
    *,
    num_tokens: int,
    next_logits: Callable[[Sequence[int]], Array],
    continue_plain: Continue,
    margin: float,
) -> Identity:
    """Classifies `other` against the `plain` greedy text after `context`, both of `num_tokens` tokens unless stopped.

    tie_break: wherever they part, the two tokens' logits are within `margin`, and plain decoding continued from the
    other token gives the other text. Anything else is diverged.
    """
    parted = False
    expected = list(plain)
    while True:
        at = next((i for i, (a, b) in enumerate(zip(expected, other, strict=False)) if a != b), None)
        if at is None:
            same_length = len(expected) == len(other)
            return ("tie_break" if parted else "identical") if same_length else "diverged"
        parted = True
        logits = next_logits([*context, *other[:at]])
        if float(logits.max()) - float(logits[other[at]]) > margin:
            return "diverged"
        head = list(other[: at + 1])
        expected = head + list(continue_plain([*context, *head], num_tokens - len(head)))


def is_looping(tokens: Sequence[int]) -> bool:
    """A text that repeats itself: fewer than 40 % of its tokens are distinct. It flatters lookup drafting."""
    return bool(tokens) and len(set(tokens)) < 0.4 * len(tokens)
