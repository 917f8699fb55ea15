"""Theorem 2 through the whole loop: sampled text follows the target (see also test_accept.py)."""

import numpy as np
import pytest
from scipy.stats import chisquare

from decoder.sampler import Sampler
from decoder.sampling import probabilities
from decoder.speculate import speculate
from decoder.wire.messages import Sampling
from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import Array, Drafter
from drafting.lookup import LookupDrafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter
from tests.fakes import NumpyModel

VOCABULARY = 8
CONTEXT = [5, 3, 1, 2, 3]
NUM_TEXTS = 20_000
TARGET = NumpyModel(11, vocabulary=VOCABULARY, spread=1.2)


def joint(sampling: Sampling) -> Array:
    """Probabilities [vocabulary, vocabulary] of the first two tokens."""
    first = _row(CONTEXT, sampling)
    return np.array([first[token] * _row([*CONTEXT, token], sampling) for token in range(VOCABULARY)])


def _row(context: list[int], sampling: Sampling) -> Array:
    row = np.asarray(probabilities(TARGET.row(context)[None, :], sampling)[0], dtype=np.float64)
    return row / row.sum()


def drafter(kind: str, sampler: Sampler) -> Drafter:
    if kind == "lookup":
        corpus = Corpus(lambda text: list(map(int, text)))
        corpus.open("x", ["".join(map(str, np.random.default_rng(3).integers(0, VOCABULARY, 400)))])
        return LookupDrafter(ContextIndex(), corpus)
    small = PrefixCache(NumpyModel(12, vocabulary=VOCABULARY, spread=1.2))
    greedy = Sampler(Sampling())
    return SmallModelDrafter(small, sampler.pick if kind == "drawn" else greedy.pick)


@pytest.mark.parametrize(
    ("kind", "gamma", "sampling"),
    [
        ("drawn", 2, Sampling(temperature=0.7, top_p=0.8, seed=1)),
        ("argmax", 1, Sampling(temperature=1.0, top_k=3, seed=2)),
        ("lookup", 5, Sampling(temperature=1.0, seed=3)),
    ],
)
def test_texts_follow_the_target(kind: str, gamma: int, sampling: Sampling) -> None:
    sampler = Sampler(sampling)
    target = PrefixCache(TARGET)
    guesses = drafter(kind, sampler)
    counts = np.zeros((VOCABULARY, VOCABULARY))
    num_accepted = 0
    for _ in range(NUM_TEXTS):
        steps = speculate(target, guesses, CONTEXT, sampler, gamma=lambda: gamma, max_tokens=gamma + 1)
        tokens: list[int] = []
        while len(tokens) < 2:
            step = next(steps)
            tokens += step.tokens
            num_accepted += step.num_accepted
        steps.close()
        counts[tokens[0], tokens[1]] += 1
    assert num_accepted > NUM_TEXTS / 10, "drafts that are never accepted prove nothing"
    expected = joint(sampling) * NUM_TEXTS
    assert counts[expected == 0].sum() == 0
    common = expected >= 5
    rare = ~common & (expected > 0)
    observed, wanted = [*counts[common], counts[rare].sum()], [*expected[common], expected[rare].sum()]
    if not rare.any():
        observed, wanted = observed[:-1], wanted[:-1]
    assert chisquare(observed, wanted).pvalue > 1e-3
    # 64 cells and 20,000 draws of the right distribution differ by about .5 sqrt(2 * 64 / (pi * 20,000)) = .023
    assert np.abs(counts - expected).sum() / 2 / NUM_TEXTS <= 0.03
