"""Theorem 2 through the whole loop: sampled text follows the target (see also test_distribution.py)."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from decoder.accept import AcceptanceRule
from decoder.cost import PassCost
from decoder.sampler import Sampler
from decoder.sampling import probabilities
from decoder.speculate import speculate
from decoder.wire.messages import Sampling
from drafting.interface import Array, Drafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter
from tests.decoder.chain import START, VOCABULARY, FixedPrice, cascade, counted, joint, lookup, significance, syntax
from tests.fakes import NumpyModel

NUM_TEXTS = 4_000
CASES = [
    ("drawn", 2, Sampling(temperature=0.7, top_p=0.8)),
    ("argmax", 1, Sampling(temperature=1.0, top_k=3)),
    ("lookup", 5, Sampling(temperature=1.0)),
    ("syntax", 4, Sampling(temperature=0.7, top_p=0.8)),
    ("cascade", 5, Sampling(temperature=1.0)),
]
"""20,000 texts together."""
TARGET = NumpyModel(11, vocabulary=VOCABULARY, spread=1.2)


def expected(sampling: Sampling) -> Array:
    """Probabilities [vocabulary, vocabulary] of the first two tokens."""
    after = [probabilities(TARGET.row([*START, token]), sampling) for token in range(VOCABULARY)]
    return joint(probabilities(TARGET.row(START), sampling), np.array(after))


class Writer:
    """Writes two tokens, again and again, and counts what was accepted."""

    def __init__(self, kind: str, gamma: int, sampling: Sampling, rule: AcceptanceRule) -> None:
        self._kind, self._gamma, self._sampling, self._rule = kind, gamma, sampling, rule
        self._target = PrefixCache(TARGET)
        self._small = PrefixCache(NumpyModel(12, vocabulary=VOCABULARY, spread=1.2))
        self._lookup = lookup() if kind == "lookup" else syntax()
        self._tuner = FixedPrice(PassCost((1, 16), (10.0, 11.0)), ms_per_draft_token=0.3)
        self.num_accepted = 0
        self.sources: set[str] = set()

    def write(self, seed: int) -> tuple[int, int]:
        sampler = Sampler(replace(self._sampling, seed=seed), self._rule)
        steps = speculate(
            self._target,
            self._drafter(sampler),
            START,
            sampler,
            gamma=lambda: self._gamma,
            max_tokens=self._gamma + 1,
        )
        tokens: list[int] = []
        while len(tokens) < 2:
            step = next(steps)
            tokens += step.tokens
            self.num_accepted += step.num_accepted
            self.sources |= {source for source, _, _ in step.shares()}
        steps.close()
        return tokens[0], tokens[1]

    def _drafter(self, sampler: Sampler) -> Drafter:
        if self._kind in ("lookup", "syntax"):
            return self._lookup
        small = SmallModelDrafter(self._small, (Sampler(Sampling()) if self._kind == "argmax" else sampler).pick)
        return cascade(self._tuner, self._lookup, small) if self._kind == "cascade" else small


@pytest.mark.parametrize("rule", get_args(AcceptanceRule))
@pytest.mark.trap(1)
def test_texts_of_many_seeds_follow_the_target(rule: AcceptanceRule) -> None:
    total, wanted = np.zeros((2, VOCABULARY, VOCABULARY))
    for kind, gamma, sampling in CASES:
        writer = Writer(kind, gamma, sampling, rule)
        counts = counted(writer.write, NUM_TEXTS)
        assert writer.num_accepted > NUM_TEXTS / 10, "drafts that are never accepted prove nothing"
        assert kind != "cascade" or writer.sources >= {"model", "lookup"}, "both drafters should have had a part in it"
        assert significance(counts, expected(sampling)) > 1e-3, f"{kind}, gamma {gamma}, {sampling}"
        total += counts
        wanted += expected(sampling) * NUM_TEXTS
    # 64 cells and 20,000 draws of the right distribution differ by about .5 sqrt(2 * 64 / (pi * 20,000)) = .023
    assert np.abs(total - wanted).sum() / 2 / total.sum() <= 0.03
