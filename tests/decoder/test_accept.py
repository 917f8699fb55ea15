"""The two rules, token by token; that texts follow the target is shown in test_distribution.py."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, product

import numpy as np
import pytest

from decoder.accept import Accepted, coupled, draw, rejection
from decoder.noise import Noise
from drafting.interface import Array, Draft

ALMOST_ONE = 1.0 - 2.0**-53
P = np.array([[0.5, 0.25, 0.125, 0.125], [0.0, 0.25, 0.25, 0.5]], dtype=np.float32)
Q = np.array([0.25, 0.5, 0.25, 0.0], dtype=np.float32)


def uniforms(*draws: float) -> Callable[[], float]:
    stream: Iterator[float] = iter(draws)
    return lambda: next(stream)


def one(token: int, q: Array | None = None) -> Draft:
    return Draft((token,), "test", None if q is None else (q,))


def test_a_token_stands_with_probability_p_over_q() -> None:
    assert rejection(one(1, Q), P, uniforms(0.499999, 0.0)).num_accepted == 1
    assert rejection(one(1, Q), P, uniforms(0.5, 0.0)).num_accepted == 0


def test_a_token_the_target_likes_better_always_stands() -> None:
    assert rejection(one(0, Q), P, uniforms(ALMOST_ONE, 0.0)).num_accepted == 1


def test_rows_of_the_draft_may_lie_elsewhere_than_those_of_the_target() -> None:
    # a draft model on a device of its own: every rejected token was an error
    torch = pytest.importorskip("torch")
    here, elsewhere = (
        rejection(one(1, Q), P, uniforms(0.9, 0.3)),
        rejection(one(1, Q), torch.tensor(P), uniforms(0.9, 0.3)),
    )
    assert elsewhere == here
    assert elsewhere.num_accepted == 0


@pytest.mark.trap(3)
def test_a_deterministic_token_stands_with_probability_p() -> None:
    assert rejection(one(1), P, uniforms(0.249999, 0.0)).num_accepted == 1
    assert rejection(one(1), P, uniforms(0.25, 0.0)).num_accepted == 0


@pytest.mark.parametrize(("draft", "left"), [(one(1, Q), [0.25, 0.0, 0.0, 0.125]), (one(1), [0.5, 0.0, 0.125, 0.125])])
def test_the_recovered_token_follows_what_q_does_not_cover(draft: Draft, left: list[float]) -> None:
    num_draws = 4000
    drawn = Counter(rejection(draft, P, uniforms(ALMOST_ONE, (i + 0.5) / num_draws)).token for i in range(num_draws))
    for token, weight in enumerate(left):
        assert abs(drawn[token] / num_draws - weight / sum(left)) <= 1 / num_draws


@pytest.mark.trap(7)
def test_the_bonus_follows_the_target_at_the_end_of_the_draft() -> None:
    num_draws = 4000
    drawn = Counter(rejection(one(0), P, uniforms(0.0, (i + 0.5) / num_draws)).token for i in range(num_draws))
    assert {token: count / num_draws for token, count in drawn.items()} == {1: 0.25, 2: 0.25, 3: 0.5}


@pytest.mark.trap(5)
def test_equal_distributions_accept_everything() -> None:
    # p - q is zero everywhere: dividing by its sum would give NaN
    for token, u in product(range(4), [0.0, 0.3, ALMOST_ONE]):
        assert rejection(one(token, P[0]), P, uniforms(u, 0.5)).num_accepted == 1


def test_a_rejection_without_anything_left_falls_back_to_the_target() -> None:
    q = P[0] * np.float32(1.0000001)  # rounding, not probability, makes room for a rejection
    assert rejection(one(0, q), P, uniforms(ALMOST_ONE, 0.3)) == Accepted(0, 0)


@pytest.mark.trap(6)
def test_an_impossible_token_is_rejected_even_by_a_zero_draw() -> None:
    assert rejection(one(0, np.full(4, 0.25, dtype=np.float32)), P[1:], uniforms(0.0, 0.0)).num_accepted == 0
    assert rejection(one(0), P[1:], uniforms(0.0, 0.0)) == Accepted(0, 1)


def test_a_token_that_its_own_row_excludes_is_an_error() -> None:
    with pytest.raises(ValueError, match="draft token 3 was not drawn from the probabilities"):
        rejection(one(3, Q), P, uniforms(0.5, 0.5))


def test_certain_targets_stop_at_the_first_disagreement() -> None:
    target = np.eye(4, dtype=np.float32)[[2, 0, 3, 1]]
    assert rejection(Draft((2, 0, 1), "test"), target, random.Random(0).random) == Accepted(2, 3)
    assert rejection(Draft((2, 0, 3), "test"), target, random.Random(0).random) == Accepted(3, 1)
    assert rejection(Draft(), target, random.Random(0).random) == Accepted(0, 2)


def test_coupled_tokens_stand_while_they_are_the_targets_choice() -> None:
    assert coupled(Draft((2, 0, 1), "test"), [2, 0, 3, 1]) == Accepted(2, 3)
    assert coupled(Draft((2, 0, 3), "test"), [2, 0, 3, 1]) == Accepted(3, 1)
    assert coupled(Draft((1, 0, 3), "test"), [2, 0, 3, 1]) == Accepted(0, 2)
    assert coupled(Draft(), [2]) == Accepted(0, 2)


def test_neither_rule_asks_for_rows_behind_the_first_disagreement() -> None:
    asked = count()
    assert coupled(Draft((0, 1, 7, 3, 4), "test"), asked) == Accepted(2, 2)
    assert next(asked) == 3
    rows = iter(np.eye(5, dtype=np.float32))
    assert rejection(Draft((0, 1, 4, 3), "test"), rows, random.Random(0).random) == Accepted(2, 2)
    assert int(next(rows).argmax()) == 3


def agreement(p: Array, q: Array) -> float:
    """How often two choices by the same noise agree: the sum over i of 1 / sum over j of max(p_j / p_i, q_j / q_i)."""
    return float((1.0 / np.maximum(p / p[:, None], q / q[:, None]).sum(axis=1)).sum())


def test_coupled_choices_agree_as_often_as_promised() -> None:
    noise, num_positions = Noise(2), 3000
    for number in range(6):
        p, q = np.random.default_rng(number).dirichlet(np.full(12, 0.4), 2) + 1e-9
        distance = np.abs(p - q).sum() / 2
        expected = agreement(p, q)
        assert (1 - distance) / (1 + distance) <= expected + 1e-6 <= 1 - distance + 2e-6
        agreed = sum(noise.choose(p, position) == noise.choose(q, position) for position in range(num_positions))
        assert abs(agreed / num_positions - expected) < 4 * np.sqrt(expected * (1 - expected) / num_positions)


@pytest.mark.trap(26)
def test_the_probabilities_are_left_as_they_were() -> None:
    p, q = P.copy(), Q.copy()
    p.flags.writeable = q.flags.writeable = False
    rejection(one(1, q), p, uniforms(ALMOST_ONE, 0.9))
    rejection(one(1), p, uniforms(ALMOST_ONE, 0.9))
    assert (p == P).all()
    assert (q == Q).all()


def test_draws_never_yield_a_token_of_weight_zero() -> None:
    weights = np.array([0.0, 0.3, 0.0, 0.7, 0.0], dtype=np.float32)
    assert [draw(weights, u) for u in (0.0, 0.29, 0.31, ALMOST_ONE)] == [1, 1, 3, 3]


def test_the_tail_of_a_large_vocabulary_is_reached() -> None:
    weights = np.full(150_000, 1e-7, dtype=np.float32)  # float32 sums would lose the last ones
    assert draw(weights, ALMOST_ONE) == 149_999


def test_torch_gives_what_numpy_gives() -> None:
    torch = pytest.importorskip("torch")
    stream = random.Random(5)
    for token, q in product(range(3), [Q, None]):
        draws = stream.random(), stream.random()
        expected = rejection(one(token, q), P, uniforms(*draws))
        moved = one(token, None if q is None else torch.from_numpy(q))
        assert rejection(moved, torch.from_numpy(P), uniforms(*draws)) == expected
