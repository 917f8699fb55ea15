"""Logits to probabilities: one function for the target and for every draft, written against the array API."""

from typing import Any

from array_api_compat import array_namespace

from decoder.wire.messages import Sampling
from drafting.interface import Array

GREEDY_BELOW = 1e-6
"""Temperatures under this are greedy decoding: dividing float32 logits by less would overflow."""


class NonFiniteLogitsError(Exception):
    """The model produced NaN or infinity: nothing may be accepted on such a row."""


def probabilities(logits: Array, sampling: Sampling) -> Array:
    """Temperature, then top-k, then top-p, as float32 rows that sum to 1.

    logits: float32 [n, vocabulary]; never changed in place. Greedy gives one-hot rows at the first maximum.
    Raises NonFiniteLogitsError where a row holds NaN or +inf, or nothing but -inf.
    """
    xp = array_namespace(logits)
    peak = xp.max(logits, axis=-1, keepdims=True)
    if not bool(xp.all(xp.isfinite(peak))):
        raise NonFiniteLogitsError("the model's logits are not finite; try another precision (dtype) in config.toml")
    if sampling.temperature < GREEDY_BELOW:
        return _one_hot(xp, logits)
    weights = xp.exp((logits - peak) / sampling.temperature)
    if 0 < sampling.top_k < logits.shape[-1]:
        weights = _keep_top_k(xp, weights, sampling.top_k)
    weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    if sampling.top_p < 1.0:
        weights = _keep_top_p(xp, weights, sampling.top_p)
        weights = weights / xp.sum(weights, axis=-1, keepdims=True)
    return weights


def _one_hot(xp: Any, logits: Array) -> Array:
    best = xp.argmax(logits, axis=-1)
    tokens = xp.arange(logits.shape[-1], dtype=best.dtype, device=logits.device)
    return xp.astype(tokens == best[..., None], xp.float32)


def _keep_top_k(xp: Any, weights: Array, top_k: int) -> Array:
    ordered = xp.sort(weights, axis=-1, descending=True)
    return _keep_largest(xp, weights, ordered, xp.full_like(ordered[..., :1], top_k, dtype=xp.int64))


def _keep_top_p(xp: Any, weights: Array, top_p: float) -> Array:
    """The smallest set of most likely tokens whose mass reaches `top_p` (Holtzman et al. 2020, arXiv:1904.09751)."""
    ordered = xp.sort(weights, axis=-1, descending=True)
    mass_before = xp.cumulative_sum(ordered, axis=-1) - ordered
    within = xp.astype(mass_before < top_p, xp.int64)
    return _keep_largest(xp, weights, ordered, xp.clip(xp.sum(within, axis=-1, keepdims=True), min=1))


def _keep_largest(xp: Any, weights: Array, ordered: Array, count: Array) -> Array:
    """Exactly `count` [n, 1] entries of each row, the largest; of equal ones the first. The others become 0."""
    smallest = xp.take_along_axis(ordered, count - 1, axis=-1)
    above = weights > smallest
    equal = xp.astype(weights == smallest, xp.int64)
    room = count - xp.sum(xp.astype(above, xp.int64), axis=-1, keepdims=True)
    kept = above | ((equal == 1) & (xp.cumulative_sum(equal, axis=-1) <= room))
    return xp.where(kept, weights, xp.zeros_like(weights))
