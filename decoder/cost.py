"""What a forward pass costs by its rows, measured on this machine, and how long a draft is worth its rows."""

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drafting.interface import LanguageModel

MEASURED_ROWS = (1, 2, 3, 4, 6, 8, 9, 12, 16)
_CONTEXT = 256
_REPEATS = 5

LOOKUP_SURVIVAL = (0.69, 0.49, 0.36, 0.26, 0.20, 0.15, 0.11, 0.09, 0.07, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02)
"""How often at least so many tokens of a lookup draft stand, on 240 completion tasks with the starter (int8)."""


@dataclass(frozen=True, slots=True)
class PassCost:
    """Milliseconds of passes of `rows` rows, both ascending; costs never fall as rows grow."""

    rows: tuple[int, ...]
    milliseconds: tuple[float, ...]

    def of(self, rows: int) -> float:
        """Of a pass with so many rows, between measured ones in proportion, beyond the last by the last slope.

        >>> PassCost((1, 4), (20.0, 26.0)).of(2)
        22.0
        """
        right = min(max(bisect_left(self.rows, rows), 1), len(self.rows) - 1)
        (x0, x1), (y0, y1) = self.rows[right - 1 : right + 1], self.milliseconds[right - 1 : right + 1]
        return max(self.milliseconds[0], y0 + (y1 - y0) * (rows - x0) / (x1 - x0))


def measure_cost(model: LanguageModel) -> PassCost:
    """The quickest of a few passes each, taken in turn, behind a context of some hundred tokens; the cache is empty
    after. The quickest, because a machine that does other work makes passes only slower.

    What the engine pads is measured as padded: a pass of one row costs what one of `min_rows` costs.
    """
    random = np.random.default_rng(0)
    held = min(_CONTEXT, model.context_length - MEASURED_ROWS[-1])
    text = [int(token) for token in random.integers(0, model.vocabulary.size, held + MEASURED_ROWS[-1])]
    model.rewind(0)
    model.extend(text[:held], last=0)
    times: dict[int, list[float]] = {rows: [] for rows in MEASURED_ROWS}
    for turn in range(_REPEATS + 1):
        for rows in MEASURED_ROWS:
            started = time.perf_counter()
            model.extend(text[held : held + rows])
            taken = 1000 * (time.perf_counter() - started)
            model.rewind(held)
            if turn:  # the first pass of a size prepares its kernels
                times[rows].append(taken)
    model.rewind(0)
    return PassCost(MEASURED_ROWS, _rising([min(times[rows]) for rows in MEASURED_ROWS]))


def best_gamma(cost: PassCost, survival: Sequence[float] = LOOKUP_SURVIVAL) -> int:
    """The draft length with the most tokens per millisecond: argmax of (1 + sum of survival) / cost of gamma + 1 rows.

    survival: how often at least 1, 2, ... draft tokens stand. 0 where no draft is worth its rows.
    """
    expected = [1.0]
    for probability in survival:
        expected.append(expected[-1] + probability)
    return max(range(len(expected)), key=lambda gamma: expected[gamma] / cost.of(gamma + 1))


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
