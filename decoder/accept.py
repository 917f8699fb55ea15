"""The acceptance rules: which draft tokens stand, and the token that follows them. Pure.

Both are told the target's rows one after the other and ask for no more than they need.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from array_api_compat import array_namespace

from drafting.interface import Array, Draft

AcceptanceRule = Literal["coupled", "rejection"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """`num_accepted` draft tokens stand; `token` follows them: the bonus token if all stand, else the recovered one."""

    num_accepted: int
    token: int


def coupled(draft: Draft, choices: Iterable[int]) -> Accepted:
    """Keeps a draft as long as it is what the target chooses, so that the text is the target's own whoever drafted.

    Where the choices are drawn with noise that depends on the position alone, and the draft's tokens are drawn with
    the same noise, they agree with probability (1 - TV) / (1 + TV) at least, TV being the total variation distance of
    p and q (Daliri, Musco, Suresh 2024, arXiv:2408.07978). Greedy decoding is the same rule without noise.

    choices: the target's tokens after the context, after the first draft token, ..., after the last one.
    """
    choice = iter(choices)
    for num_accepted, token in enumerate(draft.tokens):
        if (chosen := next(choice)) != token:
            return Accepted(num_accepted, chosen)
    return Accepted(len(draft.tokens), next(choice))


def rejection(draft: Draft, target: Iterable[Array], uniform: Callable[[], float]) -> Accepted:
    """Verifies a draft so that what is emitted follows the target's distribution exactly.

    Token x drawn from q stands with probability min(1, p(x)/q(x)); the first that falls is replaced by a draw from
    normalise(max(p - q, 0)); after a full acceptance the bonus is drawn from p (Leviathan et al. 2023,
    arXiv:2211.17192, algorithm 1). A token chosen deterministically has one-hot q.

    target: rows p, float32 [vocabulary], one more than draft tokens; uniform: float64 draws from [0, 1).
    Raises ValueError where a token claims to be drawn from a row that gives it no probability.
    """
    rows = iter(target)
    for position, token in enumerate(draft.tokens):
        p = next(rows)
        q = draft.probabilities[position] if draft.probabilities is not None else None
        q_token = 1.0 if q is None else float(q[token])
        if q_token <= 0.0:
            raise ValueError(f"draft token {token} was not drawn from the probabilities reported with it")
        if not uniform() * q_token < float(p[token]):
            return Accepted(position, draw(_residual(p, q, token), uniform()))
    return Accepted(len(draft.tokens), draw(next(rows), uniform()))


def draw(weights: Array, uniform: float) -> int:
    """A token with probability proportional to its weight, by inversion in float64; weights are [vocabulary]."""
    xp = array_namespace(weights)
    mass = xp.cumulative_sum(xp.astype(weights, xp.float64))
    return int(xp.searchsorted(mass, uniform * mass[-1], side="right"))


def _residual(p: Array, q: Array | None, token: int) -> Array:
    """What is left of p where q does not cover it; p itself where rounding leaves nothing."""
    xp = array_namespace(p)
    if q is None:
        left = xp.asarray(p, copy=True)
        left[token] = 0.0
    else:
        left = xp.clip(p - xp.asarray(q, device=p.device), min=0.0)  # the draft model may have a device of its own
    return left if float(xp.sum(left)) > 0.0 else p
