"""Theorem 1: speculative greedy decoding writes exactly what plain greedy decoding writes."""

import functools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.cost import PassCost
from decoder.drafters import FirstOf, NoDrafter
from decoder.sampler import Sampler
from decoder.speculate import speculate
from decoder.torch_model import TorchModel
from decoder.wire.messages import Sampling
from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import Drafter
from drafting.lookup import LookupDrafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter
from tests.decoder.chain import FixedPrice, cascade
from tests.fakes import RandomDrafter, tiny_llama

pytestmark = pytest.mark.usefixtures("one_thread")
VOCABULARY = 24
GREEDY = Sampler(Sampling())
PROMPT = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=30)


@functools.cache
def model(seed: int, kind: str = "Llama") -> TorchModel:
    return tiny_llama(seed, vocabulary=VOCABULARY, context_length=96, kind=kind)


def drafter(kind: str, seed: int, target_seed: int) -> Drafter:
    lookup = LookupDrafter(ContextIndex(), _corpus(seed))
    match kind:
        case "lookup in the text":
            return LookupDrafter(ContextIndex())
        case "lookup in a corpus":
            return lookup
        case "another model":
            return SmallModelDrafter(PrefixCache(_fresh(target_seed + 1)), GREEDY.pick)
        case "the same model":
            return SmallModelDrafter(PrefixCache(_fresh(target_seed, copy=True)), GREEDY.pick)
        case "cascade":
            small = SmallModelDrafter(PrefixCache(_fresh(target_seed + 1)), GREEDY.pick)
            return cascade(FixedPrice(PassCost((1, 16), (10.0, 12.0)), ms_per_draft_token=0.5), lookup, small)
        case "random":
            return RandomDrafter(seed, VOCABULARY)
        case _:
            return FirstOf(lookup, RandomDrafter(seed, VOCABULARY))


def _corpus(seed: int) -> Corpus:
    corpus = Corpus(lambda text: [ord(character) for character in text])
    tokens = np.random.default_rng(seed).integers(0, VOCABULARY, 600)
    corpus.open("x", ["".join(map(chr, tokens[i : i + 60])) for i in range(0, 600, 60)])
    return corpus


@functools.cache
def _copy(seed: int) -> TorchModel:
    return tiny_llama(seed, vocabulary=VOCABULARY, context_length=96)


def _fresh(seed: int, *, copy: bool = False) -> TorchModel:
    found = _copy(seed) if copy else model(seed)
    found.rewind(0)
    return found


def written(
    target: TorchModel, drafter: Drafter, prompt: Sequence[int], gamma: int, max_tokens: int, stop_ids: Sequence[int]
) -> list[int]:
    target.rewind(0)
    steps = speculate(
        PrefixCache(target), drafter, prompt, GREEDY, gamma=lambda: gamma, max_tokens=max_tokens, stop_ids=stop_ids
    )
    return [token for step in steps for token in step.tokens]


@pytest.mark.parametrize(
    "kind",
    ["lookup in the text", "lookup in a corpus", "another model", "the same model", "cascade", "random", "first of"],
)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 3),
    st.integers(0, 99),
    PROMPT,
    st.integers(0, 16),
    st.integers(1, 24),
    st.lists(st.integers(0, VOCABULARY - 1), max_size=2),
)
@pytest.mark.trap(9)
def test_speculative_greedy_is_plain_greedy(
    kind: str, target_seed: int, seed: int, prompt: list[int], gamma: int, max_tokens: int, stop_ids: list[int]
) -> None:
    target = model(target_seed)
    plain = written(target, NoDrafter(), prompt, 0, max_tokens, stop_ids)
    assert written(target, drafter(kind, seed, target_seed), prompt, gamma, max_tokens, stop_ids) == plain
    assert len(plain) == max_tokens or plain[-1] in stop_ids


@pytest.mark.parametrize("kind", ["Starcoder2", "Mistral"])
@pytest.mark.parametrize("gamma", [1, 5, 16])
@pytest.mark.trap(27)
def test_a_sliding_window_changes_nothing(kind: str, gamma: int) -> None:
    # caches that keep only the window cannot take a rejection back
    target = tiny_llama(3, vocabulary=VOCABULARY, context_length=96, kind=kind, sliding_window=8)
    prompt = [5, 1, 7, 5, 1, 2] * 3
    plain = written(target, NoDrafter(), prompt, 0, 40, ())
    assert written(target, RandomDrafter(1, VOCABULARY), prompt, gamma, 40, ()) == plain
    assert written(target, LookupDrafter(ContextIndex()), prompt, gamma, 40, ()) == plain


def test_the_window_of_the_target_ends_both_at_the_same_token() -> None:
    target = model(0)
    prompt = [1] * 90
    plain = written(target, NoDrafter(), prompt, 0, 50, ())
    assert len(plain) == 96 - 90
    assert written(target, drafter("the same model", 0, 0), prompt, 8, 50, ()) == plain


@pytest.mark.trap(12)
@pytest.mark.trap(13)
def test_a_real_model_drafting_for_itself_is_always_right_also_after_pauses() -> None:
    target = tiny_llama(5, vocabulary=VOCABULARY, context_length=256)
    small = SmallModelDrafter(PrefixCache(tiny_llama(5, vocabulary=VOCABULARY, context_length=256)), GREEDY.pick)
    gammas = iter([4, 4, 0, 0, 4, 1, 0] * 60)
    steps = list(speculate(PrefixCache(target), small, [1, 2, 3], GREEDY, gamma=lambda: next(gammas), max_tokens=200))
    assert sum(len(step.tokens) for step in steps) == 200
    assert sum(step.num_drafted for step in steps) >= 100
    assert all(step.num_accepted == step.num_drafted for step in steps)
