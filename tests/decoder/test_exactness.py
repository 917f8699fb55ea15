"""The probe, on models whose arithmetic depends on the sizes of passes in known ways."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from decoder.exactness import FIXED_ROWS, Exactness, probe_exactness
from drafting.interface import Array
from tests.fakes import NumpyModel


class Rounding(NumpyModel):
    """Its logits and its keys are off by something that depends on the rows of the pass that they were made in."""

    def __init__(self, error: Callable[[int], float], *, context_length: int = 512) -> None:
        super().__init__(context_length=context_length)
        self.sizes: list[int] = []
        self._error = error
        self._keys: list[float] = []

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        rows = []
        for start in range(0, len(tokens), self.max_rows):
            chunk = tokens[start : start + self.max_rows]
            size = max(len(chunk), self.min_rows)
            self.sizes.append(size)
            for place in range(len(chunk)):
                self._keys.append(self._error(size))
                noise = np.float32(sum(self._keys[: len(self.held) + place + 1]))
                rows.append(super().row([*self.held, *chunk][: len(self.held) + place + 1]) + noise)
            self.held.extend(chunk)
        return np.array(rows[len(rows) - (len(rows) if last is None else last) :], dtype=np.float32)

    def rewind(self, length: int) -> None:
        super().rewind(length)
        del self._keys[length:]


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (lambda _rows: 0.0, Exactness("bitwise", 1, 256)),
        (lambda rows: 0.0 if rows >= 2 else 0.5, Exactness("bitwise", 2, 256)),
        (lambda rows: 0.0 if 8 <= rows <= 80 else 0.5, Exactness("bitwise", 8, 64)),
        (lambda rows: 0.0 if 4 <= rows < 256 else 0.5, Exactness("bitwise", 4, 128)),
        # 64 rows were taken for exact although 33 to 63 are not, which the end of a prompt may have
        (lambda rows: 0.0 if rows <= 32 or rows == 64 else 0.5, Exactness("bitwise", 1, 32)),
        (lambda rows: float(rows), Exactness("bitwise", FIXED_ROWS, FIXED_ROWS)),
    ],
)
def test_the_widest_exact_range_is_found(error: Callable[[int], float], found: Exactness) -> None:
    model = Rounding(error)
    assert probe_exactness(model) == found
    assert (model.min_rows, model.max_rows) == (found.min_rows, found.max_rows)
    assert model.held == []


def test_a_model_that_is_never_exact_stays_as_it_was() -> None:
    noise = np.random.default_rng(0)
    model = Rounding(lambda _rows: float(noise.random()))
    model.min_rows, model.max_rows = 3, 99
    assert probe_exactness(model) == Exactness("near-ties", 3, 99)
    assert (model.min_rows, model.max_rows) == (3, 99)


def test_a_short_window_is_probed_as_far_as_it_goes() -> None:
    assert probe_exactness(Rounding(lambda _rows: 0.0, context_length=64)) == Exactness("bitwise", 1, 32)


def test_the_cost_is_some_fifty_short_passes() -> None:
    model = Rounding(lambda rows: 0.0 if 2 <= rows <= 64 else 0.5)
    probe_exactness(model)
    assert len(model.sizes) < 80
    assert sum(model.sizes) < 1800


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (Exactness("bitwise", 2, 64), "exact: bitwise, 2 to 64 rows a pass"),
        (Exactness("bitwise", 16, 16), "exact: bitwise, 16 rows a pass"),
        (Exactness("near-ties", 1, 256), "exact: near-ties"),
    ],
)
def test_it_says_so(found: Exactness, sentence: str) -> None:
    assert str(found) == sentence
