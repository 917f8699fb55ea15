"""Logits to choices: one function for the target and for every draft, written against the array API."""

from collections.abc import Iterator
from typing import Any

from array_api_compat import array_namespace

from decoder.wire.messages import Sampling
from drafting.interface import Array

GREEDY_BELOW = 1e-6
"""Temperatures under this are greedy decoding: dividing float32 logits by less would overflow."""


class NonFiniteLogitsError(Exception):
    """The model produced NaN or infinity: nothing may be accepted on such a row."""

    def __init__(self) -> None:
        super().__init__("the model's logits are not finite; try another precision (dtype) in config.toml")


def most_likely(logits: Array) -> Iterator[int]:
    """The first maximum of each row of logits [n, vocabulary]: greedy decoding, without a row being written.

    Raises NonFiniteLogitsError when it comes to a row that holds NaN or +inf, or nothing but -inf: each of them
    shows in the maximum.
    """
    xp = array_namespace(logits)
    best = xp.argmax(logits, axis=-1, keepdims=True)
    peaks = xp.take_along_axis(logits, best, axis=-1)
    for token, finite in zip(best[:, 0].tolist(), xp.isfinite(peaks)[:, 0].tolist(), strict=True):
        if not finite:
            raise NonFiniteLogitsError
        yield token


def probabilities(logits: Array, sampling: Sampling) -> Array:
    """Temperature, then top-k, then top-p, as a float32 row [vocabulary] that sums to 1.

    logits: float32 [vocabulary], never changed in place. temperature: GREEDY_BELOW at least.
    Raises NonFiniteLogitsError where the row holds NaN or +inf, or nothing but -inf.
    """
    xp = array_namespace(logits)
    peak = xp.max(logits)
    if not bool(xp.isfinite(peak)):
        raise NonFiniteLogitsError
    weights = xp.exp((logits - peak) / sampling.temperature)
    if 0 < sampling.top_k < logits.shape[0]:
        weights = _keep_top_k(xp, weights, sampling.top_k)
    weights = weights / xp.sum(weights)
    if sampling.top_p < 1.0:
        weights = _keep_top_p(xp, weights, sampling.top_p)
        weights = weights / xp.sum(weights)
    return weights


def _keep_top_k(xp: Any, weights: Array, top_k: int) -> Array:
    return _keep_largest(xp, weights, xp.sort(weights, stable=False)[-top_k], top_k)


def _keep_top_p(xp: Any, weights: Array, top_p: float) -> Array:
    """The smallest set of most likely tokens whose mass reaches `top_p` (Holtzman et al. 2020, arXiv:1904.09751)."""
    least = (1.0 - top_p) / 2.0 / weights.shape[0]  # all below it together have half of what may be left out
    ordered = xp.sort(weights[weights >= least], descending=True, stable=False)
    mass_before = xp.cumulative_sum(ordered) - ordered
    count = max(1, int(xp.sum(xp.astype(mass_before < top_p, xp.int64))))
    return _keep_largest(xp, weights, ordered[count - 1], count)


def _keep_largest(xp: Any, weights: Array, smallest: Array, count: int) -> Array:
    """Exactly `count` weights, the largest down to `smallest`; of equal ones the first. The others become 0."""
    kept = weights >= smallest
    surplus = int(xp.sum(xp.astype(kept, xp.int64))) - count
    if surplus > 0:
        kept[xp.nonzero(weights == smallest)[0][-surplus:]] = False
    return xp.where(kept, weights, xp.zeros_like(weights))
