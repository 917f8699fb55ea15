"""The acceptance rule: which draft tokens stand, and the token that follows them. Pure, greedy and sampled alike."""

from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import array_namespace

from drafting.interface import Array, Draft


@dataclass(frozen=True, slots=True)
class Accepted:
    """`num_accepted` draft tokens stand; `token` follows them: the bonus token if all stand, else the recovered one."""

    num_accepted: int
    token: int


def accept(draft: Draft, target: Array, uniform: Callable[[], float]) -> Accepted:
    """Verifies a draft so that what is emitted follows the target's distribution exactly.

    Token x drawn from q stands with probability min(1, p(x)/q(x)); the first that falls is replaced by a draw from
    normalise(max(p - q, 0)); after a full acceptance the bonus is drawn from p (Leviathan et al. 2023,
    arXiv:2211.17192, algorithm 1). A token chosen deterministically has one-hot q. Greedy decoding is the same rule
    on one-hot p.

    target: p, float32 [len(draft.tokens) + 1, vocabulary]; uniform: float64 draws from [0, 1).
    Raises ValueError where a token claims to be drawn from a row that gives it no probability.
    """
    for position, token in enumerate(draft.tokens):
        p = target[position]
        q = draft.probabilities[position] if draft.probabilities is not None else None
        q_token = 1.0 if q is None else float(q[token])
        if q_token <= 0.0:
            raise ValueError(f"draft token {token} was not drawn from the probabilities reported with it")
        if not uniform() * q_token < float(p[token]):
            return Accepted(position, draw(_residual(p, q, token), uniform()))
    return Accepted(len(draft.tokens), draw(target[len(draft.tokens)], uniform()))


def draw(weights: Array, uniform: float) -> int:
    """A token with probability proportional to its weight, by inversion in float64; weights are [vocabulary]."""
    xp = array_namespace(weights)
    mass = xp.cumulative_sum(xp.astype(weights, xp.float64))
    return int(xp.sum(xp.astype(mass <= uniform * mass[-1], xp.int64)))


def _residual(p: Array, q: Array | None, token: int) -> Array:
    """What is left of p where q does not cover it; p itself where rounding leaves nothing."""
    xp = array_namespace(p)
    if q is None:
        left = xp.where(xp.arange(p.shape[0], device=p.device) == token, xp.zeros_like(p), p)
    else:
        left = xp.clip(p - q, min=0.0)
    return left if float(xp.sum(left)) > 0.0 else p
