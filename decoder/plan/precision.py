"""How weights are stored, and what that costs."""

import math
from typing import Literal

Precision = Literal["float32", "bfloat16", "float8", "int8", "int4"]  # bfloat16 stands for float16 too

LADDERS: dict[bool, tuple[Precision, ...]] = {
    False: ("bfloat16", "int8", "int4"),
    True: ("float32", "bfloat16", "int8", "int4"),
}
"""Precisions to try, the best text first: on GPUs, and (True) on a CPU, whose exact arithmetic is float32."""

GROUP = 128  # weights that share one scale in int4


def matrix_bytes(rows: int, columns: int, precision: Precision, group: int = GROUP) -> int:
    """A weight matrix with its scales: float32 ones by row for 8 bits, 16-bit scale and zero point by group for 4.

    >>> matrix_bytes(8192, 8192, "int4") / 8192**2  # bytes a weight
    0.53125
    """
    weights = rows * columns
    if precision in ("float8", "int8"):
        return weights + 4 * rows
    if precision == "int4":
        return math.ceil(weights / 2) + 4 * rows * math.ceil(columns / group)
    return weights * value_bytes(precision)


def value_bytes(precision: Precision) -> int:
    """What is never quantised: embedding, head, norms, biases, activations, keys and values.

    >>> value_bytes("float32"), value_bytes("int4")
    (4, 2)
    """
    return 4 if precision == "float32" else 2
