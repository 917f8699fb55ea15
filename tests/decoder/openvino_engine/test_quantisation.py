"""Weights in 8 and 4 bits: how near they are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from decoder.openvino_engine.quantisation import GROUP, compress_groups, compress_rows

Matrix = NDArray[np.float32]
magnitudes = st.sampled_from([0.0, 0.02, 1.0, 300.0])


def matrix(seed: int, magnitude: float, columns: int = 3 * GROUP) -> Matrix:
    return (magnitude * np.random.default_rng(seed).standard_t(3, (4, columns))).astype(np.float32)


def from_rows(parts: dict[str, NDArray[Any]]) -> Matrix:
    wide: Matrix = parts[""].astype(np.float32) * parts[".scale"].astype(np.float32)
    return wide


def from_groups(parts: dict[str, NDArray[Any]]) -> Matrix:
    scale, zero = (parts[part].astype(np.float32)[:, :, None] for part in (".scale", ".zero"))
    wide: Matrix = (levels(parts) - zero) * scale
    return wide.reshape(len(wide), -1)


def levels(parts: dict[str, NDArray[Any]]) -> Matrix:
    """[rows, groups, GROUP], 0 to 15."""
    pairs = np.stack([parts[""] & 15, parts[""] >> 4], axis=-1)
    return pairs.reshape(*parts[".scale"].shape, GROUP).astype(np.float32)


@given(st.integers(0, 999), magnitudes)
def test_8_bits_are_off_by_half_a_step_at_most(seed: int, magnitude: float) -> None:
    original = matrix(seed, magnitude)
    parts = compress_rows(original)
    step = np.abs(original).max(axis=1, keepdims=True) / 127
    assert (np.abs(from_rows(parts) - original) <= 0.57 * step + 1e-7).all()  # the step itself is rounded too
    assert parts[""].dtype == np.int8
    assert parts[".scale"].shape == (4, 1)


@given(st.integers(0, 999), magnitudes)
def test_4_bits_are_off_by_half_a_step_at_most(seed: int, magnitude: float) -> None:
    original = matrix(seed, magnitude)
    parts = compress_groups(original)
    grouped = original.reshape(4, -1, GROUP)
    step = (np.maximum(grouped.max(axis=2), 0) - np.minimum(grouped.min(axis=2), 0)) / 15
    error = np.abs(from_groups(parts) - original).reshape(4, -1, GROUP)
    assert (error <= 0.52 * step[:, :, None] + 1e-6).all()
    assert parts[""].shape == (original.size // 2,)
    assert parts[".scale"].shape == parts[".zero"].shape == (4, 3)


@given(st.integers(0, 999), st.sampled_from([0.001, 0.02, 1.0]))
def test_weights_of_16_levels_a_group_stay_on_their_levels(seed: int, magnitude: float) -> None:
    """Q4_1 stores a step and a minimum for 32 weights: zero then lies between two levels, as a rule."""
    random = np.random.default_rng(seed)
    level = random.integers(0, 16, (4, 3, GROUP)).astype(np.float32)
    level[:, :, 0], level[:, :, 1] = 0, 15  # the extremes are always in use
    step = (magnitude * random.uniform(0.5, 1.5, (4, 3, 1))).astype(np.float16).astype(np.float32)
    lowest = (-step * random.uniform(0.0, 15.0, (4, 3, 1))).astype(np.float16).astype(np.float32)
    original = (level * step + lowest).astype(np.float16).astype(np.float32)
    parts = compress_groups(original.reshape(4, -1))
    assert np.array_equal(levels(parts), level)
    largest = np.abs(original).max(axis=2, keepdims=True)
    assert (np.abs(from_groups(parts).reshape(original.shape) - original) <= largest / 2**9).all()


def test_whole_zero_points_would_move_such_weights() -> None:
    original = (np.arange(GROUP, dtype=np.float32) % 16 - 7.5).reshape(1, GROUP)
    parts = compress_groups(original)
    assert np.array_equal(from_groups(parts), original)
    assert parts[".zero"][0, 0] == 7.5


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 0.3])
def test_equal_weights_stay_equal(value: float) -> None:
    original = np.full((2, GROUP), value, dtype=np.float32)
    for wide in (from_rows(compress_rows(original)), from_groups(compress_groups(original))):
        assert np.allclose(wide, original, rtol=1e-3)
        assert len(np.unique(wide)) == 1
