"""Which forward passes evaluate a run of tokens: their shapes, and how a run is cut to fit them. Pure, no torch."""

from dataclasses import dataclass
from typing import Protocol

VERIFY_ROWS = (1, 8, 16, 32)
"""Rows of a pass whose logits are wanted: a draft step, and verify blocks."""
PREFILL_ROWS = 256
"""Rows of a pass over a prompt."""
SPARE_ROWS = VERIFY_ROWS[-1]
"""Slots of the cache beyond the window: padding of the last block lands there."""
_PREFILL_SIZES = (PREFILL_ROWS, PREFILL_ROWS // 2)
_LEAST_KEYS = 256


@dataclass(frozen=True, slots=True)
class Shape:
    """All of a forward pass that is not in its inputs; on CUDA each has a graph of its own.

    rows: tokens, padding included. keys: slots of the cache that attention looks at. logits: how many of the last
    rows go through the head.
    """

    rows: int
    keys: int
    logits: int


@dataclass(frozen=True, slots=True)
class Block:
    """One forward pass over `length` tokens from position `start` on, padded at the end to `shape.rows`.

    The logits of its last `wanted` tokens are asked for.
    """

    start: int
    length: int
    wanted: int
    shape: Shape

    @property
    def kept(self) -> slice:
        """Which of the pass's logits belong to the tokens asked for."""
        end = self.shape.logits - (self.shape.rows - self.length)
        return slice(end - self.wanted, end)


@dataclass(frozen=True, slots=True)
class Rows:
    """Fewest and most rows of a forward pass."""

    least: int = 1
    most: int = PREFILL_ROWS

    def __post_init__(self) -> None:
        """Raises ValueError for what no cache has room for."""
        if not 1 <= self.least <= SPARE_ROWS:
            raise ValueError(f"min_rows {self.least} is not between 1 and {SPARE_ROWS}")
        if self.most < self.least:
            raise ValueError(f"max_rows {self.most} is less than min_rows {self.least}")


class Shapes(Protocol):
    """A way to cut a run of tokens into forward passes."""

    def plan(self, start: int, length: int, wanted: int, rows: Rows) -> list[Block]:
        """Blocks for `length` tokens after `start` held ones, the last `wanted` with logits, in order."""
        ...

    def decoding(self, rows: Rows) -> list[Block]:
        """One block of every shape that a draft step or a verify block can have; one will do if shapes are free."""
        ...


class FreeShapes:
    """Passes as long as the run is: for devices where a new shape costs nothing."""

    def plan(self, start: int, length: int, wanted: int, rows: Rows) -> list[Block]:
        """As `Shapes.plan`: one block, or several of `rows.most`."""
        starts = range(0, length, rows.most)
        return [self._block(start, at, min(rows.most, length - at), length - wanted, rows) for at in starts]

    def decoding(self, rows: Rows) -> list[Block]:
        """As `Shapes.decoding`."""
        return self.plan(0, 1, 1, rows)

    @staticmethod
    def _block(start: int, at: int, length: int, first_wanted: int, rows: Rows) -> Block:
        wanted = min(length, max(0, at + length - first_wanted))
        padded = max(length, rows.least)
        logits = max(padded - length + wanted, min(rows.least, padded))
        return Block(start + at, length, wanted, Shape(padded, start + at + padded, logits))


class FixedShapes:
    """Few shapes for everything, so that each can be captured once and replayed.

    Rows come in `VERIFY_ROWS` and one size for prompts, keys in powers of two. A block never crosses from one key
    length into the next: how many keys a token is compared with depends on its position alone, not on its block.
    """

    def __init__(self, context_length: int) -> None:
        self._slots = context_length + SPARE_ROWS
        self.keys = key_lengths(context_length)

    def plan(self, start: int, length: int, wanted: int, rows: Rows) -> list[Block]:
        """As `Shapes.plan`."""
        blocks: list[Block] = []
        at = 0
        while at < length:
            block = self._next(start + at, length - at, wanted, rows)
            blocks.append(block)
            at += block.length
        return blocks

    def decoding(self, rows: Rows) -> list[Block]:
        """As `Shapes.decoding`."""
        starts = (0, *self.keys[:-1])
        sizes = [size for size in VERIFY_ROWS if rows.least <= size <= rows.most]
        return [self._next(start, size, size, rows) for start in starts for size in sizes]

    def _next(self, position: int, left: int, wanted: int, rows: Rows) -> Block:
        keys = next(keys for keys in self.keys if keys > position)
        prefill = next((size for size in _PREFILL_SIZES if size <= rows.most), 0)
        unwanted = min(left - wanted, keys - position, prefill)
        if unwanted > 2 * SPARE_ROWS and position + prefill <= self._slots:
            return Block(position, unwanted, 0, Shape(prefill, keys, 1))
        length = min(left, keys - position, rows.most, SPARE_ROWS)
        padded = next(size for size in VERIFY_ROWS if size >= max(length, rows.least))
        return Block(position, length, min(length, max(0, wanted - (left - length))), Shape(padded, keys, padded))


def key_lengths(context_length: int) -> tuple[int, ...]:
    """The key lengths of a window: powers of two, and the window itself.

    >>> key_lengths(1500)
    (256, 512, 1024, 1500)
    """
    lengths = [context_length]
    while (smaller := 1 << (lengths[0] - 1).bit_length() - 1) >= _LEAST_KEYS:
        lengths.insert(0, smaller)
    return tuple(lengths)
