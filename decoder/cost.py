"""What a forward pass costs by its rows, measured on this machine, and how long a draft is worth its rows."""

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np

from drafting.interface import LanguageModel

MEASURED_ROWS = (1, 2, 3, 4, 6, 8, 9, 12, 16)
_CONTEXT = 256
_REPEATS = 5

_UNPADDED = 0
_OUTLIER = 3.0
_PACE_RATE = 0.2
_FACTOR_RATE = 0.02
"""A pass moves the pace of all by a fifth of what it was off in logarithms, that of its own size by a fiftieth."""


@dataclass(frozen=True, slots=True)
class PassCost:
    """Milliseconds of passes of `rows` rows, both ascending; costs never fall as rows grow."""

    rows: tuple[int, ...]
    milliseconds: tuple[float, ...]
    one_row: float = 0.0
    """Of a pass of one row that is not padded, as plain decoding takes; 0 where the table has it, or nobody knows."""

    def __post_init__(self) -> None:
        """Raises ValueError for anything but two sizes or more, in order, that take some time and never less."""
        in_order = all(type(rows) is int for rows in self.rows) and all(a < b for a, b in pairwise((0, *self.rows)))
        sensible = all(0 < each < inf for each in self.milliseconds)
        rising = all(a <= b for a, b in pairwise(self.milliseconds))
        if not (in_order and sensible and rising and 0 <= self.one_row < inf and self._is_complete()):
            raise ValueError(f"passes of {self.rows} rows cannot cost {self.milliseconds} ms")

    def _is_complete(self) -> bool:
        return 2 <= len(self.rows) == len(self.milliseconds)

    @property
    def plain(self) -> float:
        """Milliseconds of a pass of plain decoding, the fastest without drafts: see `one_row`."""
        return self.one_row or self.of(1)

    def of(self, rows: int) -> float:
        """Of a pass with so many rows, between measured ones in proportion, beyond the last by the last slope.

        >>> PassCost((1, 4), (20.0, 26.0)).of(2)
        22.0
        """
        right = min(max(bisect_left(self.rows, rows), 1), len(self.rows) - 1)
        (x0, x1), (y0, y1) = self.rows[right - 1 : right + 1], self.milliseconds[right - 1 : right + 1]
        return max(self.milliseconds[0], y0 + (y1 - y0) * (rows - x0) / (x1 - x0))


class LiveCost:
    """A table of pass costs that goes with the passes really taken.

    What makes all passes slower, as other work on the machine or a longer context, is one factor, and no reason for
    another draft length. What makes passes of one size slower than the table says of the others is kept by size.
    """

    def __init__(self, table: PassCost) -> None:
        self._table = table
        self._pace = 1.0
        self._factors = [1.0] * len(table.rows)
        self._counts = [0] * len(table.rows)
        self._current = table

    def of(self, rows: int) -> float:
        """As `PassCost.of`, as it is now."""
        return self._pace * self._current.of(rows)

    def learn(self, rows: int, milliseconds: float) -> None:
        """A pass of so many rows took so long. One that took far longer than ever waited for something else."""
        ratio = milliseconds / self._table.of(rows)
        if not 1 / _OUTLIER < ratio / self._pace < _OUTLIER:
            ratio = self._pace * (_OUTLIER if ratio > self._pace else 1 / _OUTLIER)
        self._pace *= (ratio / self._pace) ** _PACE_RATE
        nearest = min(range(len(self._factors)), key=lambda index: abs(self._table.rows[index] - rows))
        self._counts[nearest] += 1
        rate = max(_FACTOR_RATE, 1 / (self._counts[nearest] + 4))  # the first passes of a size tell most
        self._factors[nearest] *= (ratio / self._pace / self._factors[nearest]) ** rate
        costs = [ms * factor for ms, factor in zip(self._table.milliseconds, self._factors, strict=True)]
        self._current = PassCost(self._table.rows, _rising(costs))


def measure_cost(model: LanguageModel) -> PassCost:
    """The quickest of a few passes each, taken in turn, behind a context of some hundred tokens; the cache is empty
    after. The quickest, because a machine that does other work makes passes only slower.

    What the engine pads is measured as padded: a pass of one row costs what one of `min_rows` costs. One that is not
    padded, which no draft is verified in, is measured beside them.
    """
    random = np.random.default_rng(0)
    held = min(_CONTEXT, model.context_length - MEASURED_ROWS[-1])
    text = [int(token) for token in random.integers(0, model.vocabulary.size, held + MEASURED_ROWS[-1])]
    model.rewind(0)
    model.extend(text[:held], last=0)
    times: dict[int, list[float]] = {rows: [] for rows in (_UNPADDED, *MEASURED_ROWS)}
    min_rows = model.min_rows
    for turn in range(_REPEATS + 1):
        for rows, taken in times.items():
            model.min_rows = 1 if rows == _UNPADDED else min_rows
            started = time.perf_counter()
            model.extend(text[held : held + max(rows, 1)])
            milliseconds = 1000 * (time.perf_counter() - started)
            model.rewind(held)
            if turn:  # the first pass of a size prepares its kernels
                taken.append(milliseconds)
    model.min_rows = min_rows
    model.rewind(0)
    return PassCost(
        MEASURED_ROWS,
        _rising([min(times[rows]) for rows in MEASURED_ROWS]),
        one_row=round(min(times[_UNPADDED]), 3),
    )


def measure_draft_step(model: LanguageModel) -> float:
    """Milliseconds of a draft token: the quickest of a few passes of one row; the cache is empty after."""
    random = np.random.default_rng(0)
    held = min(_CONTEXT, model.context_length - _REPEATS - 1)
    text = [int(token) for token in random.integers(0, model.vocabulary.size, held + _REPEATS + 1)]
    model.rewind(0)
    model.extend(text[:held], last=0)
    times = []
    for token in text[held:]:
        started = time.perf_counter()
        model.extend([token], last=1)
        times.append(1000 * (time.perf_counter() - started))
    model.rewind(0)
    return min(times[1:])


def _rising(values: Sequence[float]) -> tuple[float, ...]:
    """The closest sequence that never falls (pool adjacent violators, Barlow et al. 1972)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = value, 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    return tuple(round(mean, 3) for mean, size in pools for _ in range(size))
