import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, product

import numpy as np
import pytest
from scipy.stats import chisquare

from decoder.accept import Accepted, accept, draw
from decoder.sampling import probabilities
from decoder.wire.messages import Sampling
from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import Array, Draft, Drafter
from drafting.lookup import LookupDrafter

ALMOST_ONE = 1.0 - 2.0**-53
P = np.array([[0.5, 0.25, 0.125, 0.125], [0.0, 0.25, 0.25, 0.5]], dtype=np.float32)
Q = np.array([0.25, 0.5, 0.25, 0.0], dtype=np.float32)


def uniforms(*draws: float) -> Callable[[], float]:
    stream: Iterator[float] = iter(draws)
    return lambda: next(stream)


def one(token: int, q: Array | None = None) -> Draft:
    return Draft((token,), "test", None if q is None else (q,))


def test_a_token_stands_with_probability_p_over_q() -> None:
    assert accept(one(1, Q), P, uniforms(0.499999, 0.0)).num_accepted == 1
    assert accept(one(1, Q), P, uniforms(0.5, 0.0)).num_accepted == 0


def test_a_token_the_target_likes_better_always_stands() -> None:
    assert accept(one(0, Q), P, uniforms(ALMOST_ONE, 0.0)).num_accepted == 1


def test_a_deterministic_token_stands_with_probability_p() -> None:
    assert accept(one(1), P, uniforms(0.249999, 0.0)).num_accepted == 1
    assert accept(one(1), P, uniforms(0.25, 0.0)).num_accepted == 0


@pytest.mark.parametrize(("draft", "left"), [(one(1, Q), [0.25, 0.0, 0.0, 0.125]), (one(1), [0.5, 0.0, 0.125, 0.125])])
def test_the_recovered_token_follows_what_q_does_not_cover(draft: Draft, left: list[float]) -> None:
    num_draws = 4000
    drawn = Counter(accept(draft, P, uniforms(ALMOST_ONE, (i + 0.5) / num_draws)).token for i in range(num_draws))
    for token, weight in enumerate(left):
        assert abs(drawn[token] / num_draws - weight / sum(left)) <= 1 / num_draws


def test_the_bonus_follows_the_target_at_the_end_of_the_draft() -> None:
    num_draws = 4000
    drawn = Counter(accept(one(0), P, uniforms(0.0, (i + 0.5) / num_draws)).token for i in range(num_draws))
    assert {token: count / num_draws for token, count in drawn.items()} == {1: 0.25, 2: 0.25, 3: 0.5}


def test_equal_distributions_accept_everything() -> None:
    # p - q is zero everywhere: dividing by its sum would give NaN
    for token, u in product(range(4), [0.0, 0.3, ALMOST_ONE]):
        assert accept(one(token, P[0]), P, uniforms(u, 0.5)).num_accepted == 1


def test_a_rejection_without_anything_left_falls_back_to_the_target() -> None:
    q = P[0] * np.float32(1.0000001)  # rounding, not probability, makes room for a rejection
    assert accept(one(0, q), P, uniforms(ALMOST_ONE, 0.3)) == Accepted(0, 0)


def test_an_impossible_token_is_rejected_even_by_a_zero_draw() -> None:
    assert accept(one(0, np.full(4, 0.25, dtype=np.float32)), P[1:], uniforms(0.0, 0.0)).num_accepted == 0
    assert accept(one(0), P[1:], uniforms(0.0, 0.0)) == Accepted(0, 1)


def test_a_token_that_its_own_row_excludes_is_an_error() -> None:
    with pytest.raises(ValueError, match="draft token 3 was not drawn from the probabilities"):
        accept(one(3, Q), P, uniforms(0.5, 0.5))


def test_greedy_stops_at_the_first_disagreement() -> None:
    target = np.eye(4, dtype=np.float32)[[2, 0, 3, 1]]
    assert accept(Draft((2, 0, 1), "test"), target, random.Random(0).random) == Accepted(2, 3)
    assert accept(Draft((2, 0, 3), "test"), target, random.Random(0).random) == Accepted(3, 1)
    assert accept(Draft(), target, random.Random(0).random) == Accepted(0, 2)


def test_the_probabilities_are_left_as_they_were() -> None:
    p, q = P.copy(), Q.copy()
    p.flags.writeable = q.flags.writeable = False
    accept(one(1, q), p, uniforms(ALMOST_ONE, 0.9))
    accept(one(1), p, uniforms(ALMOST_ONE, 0.9))
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
        expected = accept(one(token, q), P, uniforms(*draws))
        moved = one(token, None if q is None else torch.from_numpy(q))
        assert accept(moved, torch.from_numpy(P), uniforms(*draws)) == expected


# Theorem 2: what is emitted follows the target, whatever drafted it --------------------------------------------------

VOCABULARY = 8
SAMPLERS = {
    "T=1": Sampling(temperature=1.0),
    "T=.7 top_p=.8": Sampling(temperature=0.7, top_p=0.8),
    "top_k=3": Sampling(temperature=1.0, top_k=3),
}
DRAFTERS = ("argmax", "drawn", "lookup")
GAMMAS = (1, 2, 5)
START = (5, 3, 1, 2, 3)
NUM_DRAWS = 7_408
"""27 cases, 200,016 draws together."""

TARGET_LOGITS, DRAFT_LOGITS = np.random.default_rng(7).normal(0.0, 1.2, (2, VOCABULARY, VOCABULARY)).astype(np.float32)
"""Row t: after token t."""


class _Drawn:
    """Draws from its own rows and reports them."""

    def __init__(self, rows: Array, uniform: Callable[[], float]) -> None:
        self._rows = rows
        self._mass = [list(accumulate(map(float, row))) for row in rows]
        self._uniform = uniform

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        tokens = [context[-1]]
        for _ in range(gamma):
            mass = self._mass[tokens[-1]]
            tokens.append(bisect(mass, self._uniform() * mass[-1]))
        return Draft(tuple(tokens[1:]), "drawn", tuple(self._rows[token] for token in tokens[:-1]))


class _Argmax:
    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        tokens = [context[-1]]
        for _ in range(gamma):
            tokens.append(int(DRAFT_LOGITS[tokens[-1]].argmax()))
        return Draft(tuple(tokens[1:]), "argmax")


def _drafter(kind: str, sampling: Sampling, uniform: Callable[[], float]) -> Drafter:
    if kind == "lookup":
        corpus = Corpus(lambda text: list(map(int, text)))
        corpus.open("x", ["".join(map(str, np.random.default_rng(3).integers(0, VOCABULARY, 400)))])
        return LookupDrafter(ContextIndex(), corpus)
    return _Argmax() if kind == "argmax" else _Drawn(probabilities(DRAFT_LOGITS, sampling), uniform)


def _two_steps(target: Array, drafter: Drafter, gamma: int, uniform: Callable[[], float]) -> tuple[int, int]:
    text = list(START)
    while len(text) < len(START) + 2:
        draft = drafter.draft(text, gamma)
        accepted = accept(draft, target[[text[-1], *draft.tokens]], uniform)
        text += [*draft.tokens[: accepted.num_accepted], accepted.token]
    return text[len(START)], text[len(START) + 1]


def joint(target: Array) -> Array:
    """Probabilities [vocabulary, vocabulary] of the first two tokens after START."""
    rows = np.asarray(target, dtype=np.float64)
    rows = rows / rows.sum(axis=-1, keepdims=True)
    return rows[START[-1]][:, None] * rows


def significance(counts: Array, expected: Array) -> float:
    """p-value of Pearson's test; cells expected less than five times are taken together."""
    wanted = expected * counts.sum()
    assert counts[wanted == 0].sum() == 0, "a token that the sampler excludes was emitted"
    rare = (wanted < 5) & (wanted > 0)
    common = wanted >= 5
    groups = [(*counts[common],), (*wanted[common],)]
    if rare.any():
        groups = [(*groups[0], counts[rare].sum()), (*groups[1], wanted[rare].sum())]
    return float(chisquare(*groups).pvalue)


def test_sampled_output_follows_the_target_for_every_drafter_sampler_and_gamma() -> None:
    total, expected_total = np.zeros((2, VOCABULARY, VOCABULARY))
    for seed, (kind, name, gamma) in enumerate(product(DRAFTERS, SAMPLERS, GAMMAS), start=100):
        uniform = random.Random(seed).random
        target = probabilities(TARGET_LOGITS, SAMPLERS[name])
        drafter = _drafter(kind, SAMPLERS[name], uniform)
        counts = np.zeros((VOCABULARY, VOCABULARY))
        for _ in range(NUM_DRAWS):
            counts[_two_steps(target, drafter, gamma, uniform)] += 1
        expected = joint(target)
        assert significance(counts, expected) > 1e-3, f"{kind}, {name}, gamma {gamma}"
        total += counts
        expected_total += expected * NUM_DRAWS
    # 64 cells and 200,000 draws of the right distribution differ by about .5 sqrt(2 * 64 / (pi * 200,000)) = .007
    assert np.abs(total - expected_total).sum() / 2 / total.sum() <= 0.01
