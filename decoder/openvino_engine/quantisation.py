"""Matrices in 8 and 4 bits: pure arithmetic, a row at a time or many.

int8: a row of a matrix shares one scale, symmetric. int4: 32 neighbours in a row share a scale and a zero point
(which need not be whole), as in GGUF's Q4_1, so that weights that come from there stay what they were.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP = 32


def compress_rows(matrix: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """int8 [rows, columns] and `.scale` float16 [rows, 1]."""
    scale = _scale(np.abs(matrix).max(axis=1, keepdims=True) / 127)
    return {"": np.rint(matrix / scale.astype(np.float32)).clip(-127, 127).astype(np.int8), ".scale": scale}


def compress_groups(matrix: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Two 4-bit values a byte [rows * columns / 2], `.scale` and `.zero` float16 [rows, groups]."""
    rows, columns = matrix.shape
    grouped = matrix.reshape(rows, columns // GROUP, GROUP)
    low = np.minimum(grouped.min(axis=2, keepdims=True), 0.0)
    scale = _scale((np.maximum(grouped.max(axis=2, keepdims=True), 0.0) - low) / 15)
    wide = scale.astype(np.float32)
    zero = (-low / wide).astype(np.float16)
    values = np.rint(grouped / wide + zero.astype(np.float32)).clip(0, 15)
    return {"": _packed(values), ".scale": scale[:, :, 0], ".zero": zero[:, :, 0]}


def _scale(wanted: NDArray[np.float32]) -> NDArray[np.float16]:
    """In float16 and never 0: a row of zeros is 0 by any scale."""
    scale = wanted.astype(np.float16)
    return np.where(scale > 0, scale, np.float16(1.0))


def _packed(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The lower half of a byte comes first."""
    flat = values.astype(np.uint8).reshape(-1)
    return np.bitwise_or(flat[0::2], np.left_shift(flat[1::2], 4), dtype=np.uint8)
