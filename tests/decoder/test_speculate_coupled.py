"""Coupled acceptance: a sampled text depends on the target and the seed alone (real models: test_engine_traps.py)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from decoder.cost import PassCost
from decoder.drafters import FirstOf, NoDrafter
from decoder.sampler import Sampler
from decoder.speculate import speculate
from decoder.wire.messages import Sampling
from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import Array, Draft, Drafter
from drafting.lookup import LookupDrafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter
from tests.decoder.chain import FixedPrice, cascade
from tests.fakes import FixedDrafter, NumpyModel, RandomDrafter

VOCABULARY = 24
CONTEXT = [3, 1, 4, 1, 5]
LENGTH = 40
GAMMAS = (0, 1, 2, 5, 8, 15)
SAMPLINGS = [
    Sampling(temperature=0.8, top_p=0.95, seed=5),
    Sampling(temperature=1.0, seed=2**63),
    Sampling(temperature=0.7, top_k=5, seed=6),
    Sampling(temperature=2.0, top_k=20, top_p=0.5, seed=7),
    Sampling(),
]


def model(seed: int = 1) -> NumpyModel:
    return NumpyModel(seed, vocabulary=VOCABULARY)


def write(
    target: NumpyModel, drafter: Drafter, sampler: Sampler, gamma: Callable[[], int], max_tokens: int = LENGTH
) -> list[int]:
    steps = speculate(PrefixCache(target), drafter, CONTEXT, sampler, gamma=gamma, max_tokens=max_tokens)
    return [token for step in steps for token in step.tokens]


def plain(sampling: Sampling, max_tokens: int = LENGTH) -> list[int]:
    """The text with speculation off."""
    return write(model(), NoDrafter(), Sampler(sampling), lambda: 0, max_tokens)


class Contrary:
    """An adversary: knows the text, and proposes it with one token wrong, in another place each time."""

    def __init__(self, text: Sequence[int]) -> None:
        self._right = FixedDrafter([*CONTEXT, *text])
        self._number = 0

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        tokens = list(self._right.draft(context, gamma).tokens)
        self._number += 1
        if tokens:
            place = self._number % len(tokens)
            tokens[place] = (tokens[place] + 1) % VOCABULARY
        return Draft(tuple(tokens), "contrary")


def corpus() -> Corpus:
    tokens = np.random.default_rng(1).integers(0, VOCABULARY, 600)
    filled = Corpus(lambda text: [ord(character) for character in text])
    filled.open("x", ["".join(map(chr, tokens))])
    return filled


def small(seed: int, sampler: Sampler) -> SmallModelDrafter:
    return SmallModelDrafter(PrefixCache(model(seed)), sampler.pick)


@pytest.mark.parametrize("gamma", [0, 1, 2, 5, 8, 15])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.trap(30)
def test_the_same_seed_gives_the_same_text_with_every_drafter_at_every_gamma(sampling: Sampling, gamma: int) -> None:
    text, sampler = plain(sampling), Sampler(sampling)
    assert len(text) == LENGTH
    drafters: list[Drafter] = [
        LookupDrafter(ContextIndex(), corpus()),
        small(1, sampler),
        small(2, sampler),
        small(2, Sampler(Sampling())),
        small(2, Sampler(Sampling(temperature=1.5, seed=1), "rejection")),
        RandomDrafter(3, VOCABULARY),
        FirstOf(LookupDrafter(ContextIndex(), corpus()), small(3, sampler)),
        Contrary(text),
        cascade(
            FixedPrice(PassCost((1, 16), (10.0, 11.0))), LookupDrafter(ContextIndex(), corpus()), small(2, sampler)
        ),
    ]
    for drafter in drafters:
        assert write(model(), drafter, sampler, lambda: gamma) == text, str(drafter)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_a_model_drafting_for_itself_is_accepted_and_changes_nothing(sampling: Sampling) -> None:
    sampler = Sampler(sampling)
    steps = list(speculate(PrefixCache(model()), small(1, sampler), CONTEXT, sampler, gamma=lambda: 5, max_tokens=200))
    assert all(step.num_accepted == step.num_drafted for step in steps)
    assert [token for step in steps for token in step.tokens] == plain(sampling, 200)


def test_a_gamma_that_changes_all_the_time_changes_nothing() -> None:
    lengths = np.random.default_rng(0)
    for sampling in SAMPLINGS:
        sampler = Sampler(sampling)
        drafter = FirstOf(LookupDrafter(ContextIndex(), corpus()), small(2, sampler))
        assert write(model(), drafter, sampler, lambda: int(lengths.integers(0, 12))) == plain(sampling)


def test_a_text_asked_for_in_two_parts_is_the_text_asked_for_at_once() -> None:
    # as after a keystroke along the text that was shown
    sampling = SAMPLINGS[0]
    text = plain(sampling)
    for length in (1, 7, 20):
        steps = speculate(
            PrefixCache(model()),
            RandomDrafter(length, VOCABULARY),
            [*CONTEXT, *text[:length]],
            Sampler(sampling),
            gamma=lambda: 4,
            max_tokens=LENGTH - length,
        )
        assert [token for step in steps for token in step.tokens] == text[length:]


def test_other_seeds_give_other_texts() -> None:
    assert len({tuple(plain(replace(SAMPLINGS[0], seed=seed))) for seed in range(30)}) == 30


class Ragged(NumpyModel):
    """NaN after drafted tokens that the target would never write."""

    def __init__(self, text: Sequence[int]) -> None:
        super().__init__(1, vocabulary=VOCABULARY)
        self._text = [*CONTEXT, *text]

    def row(self, tokens: Sequence[int]) -> Array:
        row = super().row(tokens)
        return row if list(tokens) == self._text[: len(tokens)] else row * np.float32("nan")


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_a_wrong_draft_changes_nothing_even_where_the_model_cannot_bear_it(sampling: Sampling) -> None:
    text = plain(sampling)
    assert write(Ragged(text), Contrary(text), Sampler(sampling), lambda: 5) == text
