"""Texts that are interrupted for others and taken up again keep the target's distribution."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.stats import chisquare

from decoder.accept import AcceptanceRule
from decoder.drafters import Drafters
from decoder.healing import TokenHealing
from decoder.prompt import Anchor, Prompt
from decoder.run import Run
from decoder.sampler import Sampler
from decoder.sampling import probabilities
from decoder.shared_target import SharedTarget
from decoder.wire.messages import Sampling
from decoder.written import Written
from drafting.corpus import Corpus
from drafting.interface import Array
from drafting.prefix_cache import PrefixCache
from tests.decoder.local import TOKENIZER, ask
from tests.fakes import NumpyModel

LETTERS = [ord(letter) for letter in "abcd"]
HEALING = TokenHealing(TOKENIZER)
NUM_TEXTS = 1200


class Letters(NumpyModel):
    """Writes four letters, each by the three tokens before it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, vocabulary=TOKENIZER.vocabulary.size, spread=1.0)
        self.vocabulary = TOKENIZER.vocabulary
        self._others = np.full(self.vocabulary.size, -np.inf, dtype=np.float32)
        self._others[LETTERS] = 0.0

    def row(self, tokens: Sequence[int]) -> Array:
        return super().row(tokens) + self._others


def text_of(text: str, seed: int, target: PrefixCache, drafters: Drafters, rule: AcceptanceRule) -> Run:
    sampling = Sampling(temperature=0.8, seed=seed)
    sampler = Sampler(sampling, rule)
    request = ask(text, draft="model", gamma=2, sampling=sampling)
    run = Run(
        request,
        Prompt(tuple(text.encode()), b"", Anchor()),
        Written.after(request),
        target=target,
        healing=HEALING,
        tokenizer=TOKENIZER,
        sampler=sampler,
        drafter=lambda each: drafters.make(each, sampler),
        gamma=2,
        stop_ids=(),
    )
    run.limit = 3
    return run


@pytest.mark.parametrize("rule", ["rejection", "coupled"])
def test_an_interrupted_text_is_drawn_as_one_that_was_written_at_once(rule: AcceptanceRule) -> None:
    model, small = Letters(1), Letters(2)
    target = PrefixCache(model)
    drafters = Drafters(model, Corpus(TOKENIZER.encode), small, spelling=TOKENIZER)
    shared, counts = SharedTarget(target, drafters), Counter[tuple[int, ...]]()
    for seed in range(NUM_TEXTS):
        runs = [text_of(text, seed + number * NUM_TEXTS, target, drafters, rule) for number, text in enumerate("xy")]
        while any(len(run.tokens) < 3 for run in runs):
            for run in runs:
                for _ in shared.hold(run):
                    pass
                if len(run.tokens) < 3:
                    run.step()
        counts[tuple(runs[0].tokens[1:3])] += 1
    expected = second_and_third(model)
    pairs = sorted(expected)
    wanted = np.array([expected[pair] for pair in pairs])
    assert chisquare([counts[pair] for pair in pairs], NUM_TEXTS * wanted / wanted.sum()).pvalue > 0.001


def second_and_third(model: Letters) -> dict[tuple[int, ...], float]:
    """The probability of each pair after the prompt "x" and a first letter, whichever it is."""
    sampling, expected = Sampling(temperature=0.8), defaultdict[tuple[int, ...], float](float)
    for letters in product(LETTERS, repeat=3):
        text = [*b"x", *letters]
        rows = (probabilities(model.row(text[:end]), sampling) for end in (1, 2, 3))
        expected[letters[1:]] += prod(float(row[letter]) for row, letter in zip(rows, letters, strict=True))
    return expected
