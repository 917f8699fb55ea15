"""Traps of speculation that only an engine can fall into: each is set up for every engine there is."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from decoder.accept import Accepted
from decoder.bench.identity import TIE_MARGIN, compare
from decoder.drafters import NoDrafter
from decoder.sampler import Sampler
from decoder.speculate import Step, speculate
from decoder.wire.messages import Sampling
from drafting.context_index import ContextIndex
from drafting.interface import Array, Draft, Drafter, LanguageModel, Vocabulary
from drafting.lookup import LookupDrafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter, VocabularyMismatchError, require_same_vocabulary
from tests.engines import ENGINES, Factory
from tests.fakes import FixedDrafter, RandomDrafter

pytestmark = pytest.mark.usefixtures("one_thread")
VOCABULARY = 64
GAMMAS = (1, 4, 15)
SAMPLED = Sampling(temperature=0.8, top_p=0.95, seed=9)
TEXT = [int(token) for token in np.random.default_rng(0).integers(0, VOCABULARY, 40)]
PROMPTS = [[int(token) for token in np.random.default_rng(number).integers(0, VOCABULARY, 12)] for number in range(8)]


@pytest.fixture(params=ENGINES)
def any_model(request: pytest.FixtureRequest) -> Factory:
    return ENGINES[request.param]


def steps(
    model: LanguageModel,
    drafter: Drafter,
    context: Sequence[int],
    gamma: int | Callable[[], int] = 0,
    max_tokens: int = 24,
    sampler: Sampler | None = None,
) -> Iterator[Step]:
    """From an empty cache."""
    model.rewind(0)
    asked = gamma if callable(gamma) else lambda: gamma
    chooser = sampler or Sampler(Sampling())
    return speculate(PrefixCache(model), drafter, context, chooser, gamma=asked, max_tokens=max_tokens)


def written(*arguments: Any, **options: Any) -> list[int]:
    return [token for step in steps(*arguments, **options) for token in step.tokens]


def model_or_refusal(factory: Factory, seed: int, **config: Any) -> LanguageModel | str:
    try:
        return factory(seed, **config)
    except Exception as refusal:
        return str(refusal)


class Halves:
    """Knows the text; every other token of its drafts is wrong from a changing place on."""

    def __init__(self, context: Sequence[int], text: Sequence[int], vocabulary: int = VOCABULARY) -> None:
        self._right = FixedDrafter([*context, *text])
        self._vocabulary = vocabulary

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        tokens = self._right.draft(context, gamma).tokens
        right = len(context) * 7 % (gamma + 1)
        wrong = ((token + 1) % self._vocabulary for token in tokens[right:])
        return Draft((*tokens[:right], *wrong), "halves")


@pytest.mark.parametrize("sampling", [Sampling(), SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.trap(9)
@pytest.mark.trap(30)
def test_the_text_is_the_same_with_any_draft_in_single_precision(any_model: Factory, sampling: Sampling) -> None:
    model = any_model(1)
    for prompt in PROMPTS:
        text = written(model, NoDrafter(), prompt, sampler=Sampler(sampling))
        for gamma in GAMMAS:
            for drafter in (Halves(prompt, text), LookupDrafter(ContextIndex()), RandomDrafter(gamma, VOCABULARY)):
                assert written(model, drafter, prompt, gamma, sampler=Sampler(sampling)) == text


@pytest.mark.trap(10)
def test_in_half_precision_texts_part_only_at_near_ties(any_model: Factory) -> None:
    model = any_model(1, dtype="bfloat16")

    def next_logits(context: Sequence[int]) -> Array:
        model.rewind(0)
        return model.extend(context, last=1)[0]

    def continue_plain(context: Sequence[int], num_tokens: int) -> Sequence[int]:
        return written(model, NoDrafter(), context, max_tokens=num_tokens) if num_tokens else ()

    for prompt in PROMPTS:
        plain = continue_plain(prompt, 24)
        for gamma in GAMMAS:
            verdict = compare(
                plain,
                written(model, Halves(prompt, plain), prompt, gamma),
                prompt,
                num_tokens=24,
                next_logits=next_logits,
                continue_plain=continue_plain,
                margin=TIE_MARGIN["bfloat16"],
            )
            assert verdict in ("identical", "tie_break"), f"{prompt}, gamma {gamma}"


@pytest.mark.trap(11)
def test_after_any_rejection_it_computes_what_a_fresh_prefill_computes(any_model: Factory) -> None:
    gamma = 5
    model, fresh = any_model(1), any_model(1)
    expected = fresh.extend(TEXT[:32])
    assert expected.dtype == np.float32
    for num_accepted in range(gamma + 1):
        wrong = [(token + 1) % VOCABULARY for token in TEXT[20 + num_accepted : 20 + gamma]]
        model.rewind(0)
        model.extend(TEXT[:20], last=0)
        model.extend([*TEXT[20 : 20 + num_accepted], *wrong])
        model.rewind(20 + num_accepted)
        assert np.allclose(model.extend(TEXT[20 + num_accepted : 32]), expected[20 + num_accepted :], atol=1e-4)


@pytest.mark.trap(11)
def test_any_sequence_of_blocks_and_rewinds_leaves_the_text_alone(any_model: Factory) -> None:
    chance = np.random.default_rng(3)
    model, fresh = any_model(2), any_model(2)
    expected = fresh.extend(TEXT)
    held = 0
    for _ in range(60):
        if held and chance.random() < 0.5:
            held = int(chance.integers(0, held + 1))
            model.rewind(held)
        block = TEXT[held : held + int(chance.integers(1, 10))]
        if block:
            assert np.allclose(model.extend(block), expected[held : held + len(block)], atol=1e-4)
            held += len(block)
            spoilt = [(token + 5) % VOCABULARY for token in block]
            model.extend(spoilt, last=0)
            model.rewind(held)


@pytest.mark.parametrize("sampling", [Sampling(), SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.trap(12)
@pytest.mark.trap(13)
def test_a_model_drafting_for_itself_is_always_right_also_after_pauses(any_model: Factory, sampling: Sampling) -> None:
    sampler = Sampler(sampling)
    drafter = SmallModelDrafter(PrefixCache(any_model(5)), sampler.pick)
    gammas = iter([1, 1, 0, 0, 1, 0, 1] * 60)
    done = list(steps(any_model(5), drafter, TEXT[:5], lambda: next(gammas), 250, sampler=sampler))
    assert len(done) >= 150
    assert sum(step.num_drafted for step in done) >= 85
    assert all(step.num_accepted == step.num_drafted for step in done)


@pytest.mark.trap(18)
def test_windows_end_texts_and_drafts_without_an_error(any_model: Factory) -> None:
    target, small = any_model(1, context_length=48), any_model(1, context_length=32)
    plain = written(target, NoDrafter(), TEXT[:20], max_tokens=60)
    assert len(plain) == 48 - 20
    drafter = SmallModelDrafter(PrefixCache(small), Sampler(Sampling()).pick)
    done = list(steps(target, drafter, TEXT[:20], 9, 60))
    assert [token for step in done for token in step.tokens] == plain
    assert (done[0].num_drafted, done[-1].num_drafted) == (9, 0)
    assert written(target, FixedDrafter([*TEXT[:20], *plain, 1, 2, 3, 4, 5]), TEXT[:20], 9, 60) == plain


@pytest.mark.trap(19)
def test_padding_is_never_written_and_models_may_differ_in_it(any_model: Factory) -> None:
    target = any_model(1, vocabulary=60, vocab_size=64)
    small = any_model(2, vocabulary=60, vocab_size=72)
    prompt = [token % 60 for token in TEXT[:10]]
    require_same_vocabulary(target, small)
    assert target.extend(prompt).shape == (10, 60)
    wild = Sampler(Sampling(temperature=50.0, seed=1))
    drafter = SmallModelDrafter(PrefixCache(small), wild.pick)
    text = written(target, drafter, prompt, 4, 200, sampler=wild)
    assert set(text) <= set(range(60))
    assert len(set(text)) > 40, "at this temperature nearly everything is written that can be"
    assert text == written(target, NoDrafter(), prompt, max_tokens=200, sampler=Sampler(Sampling(50.0, seed=1)))


@pytest.mark.trap(19)
def test_another_tokenizer_is_an_error_that_names_both_models(any_model: Factory) -> None:
    target, small = any_model(1), any_model(2)
    small.vocabulary = Vocabulary(VOCABULARY, "another")
    with pytest.raises(VocabularyMismatchError, match=rf"{small.name} \(64 tokens\) cannot draft for {target.name}"):
        require_same_vocabulary(target, small)


@pytest.mark.parametrize("kind", ["Mistral", "Starcoder2"])
@pytest.mark.trap(27)
def test_a_sliding_window_is_rolled_back_exactly_or_refused(any_model: Factory, kind: str) -> None:
    # caches that keep only the window cannot take a rejection back
    model = model_or_refusal(any_model, 3, kind=kind, sliding_window=8)
    if isinstance(model, str):
        assert re.search(f"slid|{kind}", model)
        return
    plain = written(model, NoDrafter(), TEXT[:18])
    for gamma in GAMMAS:
        assert written(model, Halves(TEXT[:18], plain), TEXT[:18], gamma) == plain
    model.rewind(0)
    expected = model.extend(TEXT[:30])
    model.rewind(12)
    assert np.allclose(model.extend(TEXT[12:30]), expected[12:], atol=1e-4)


class LogProbabilities(Sampler):
    """Remembers the log-probability of every token that it lets pass."""

    def __init__(self) -> None:
        super().__init__(SAMPLED)
        self.found: list[float] = []

    def accept(self, draft: Draft, logits: Array, position: int) -> Accepted:
        accepted = super().accept(draft, logits, position)
        tokens = (*draft.tokens[: accepted.num_accepted], accepted.token)
        for row, token in zip(np.asarray(logits, dtype=np.float64), tokens, strict=False):
            self.found.append(float(row[token] - np.log(np.exp(row).sum())))
        return accepted


@pytest.mark.trap(29)
def test_log_probabilities_of_accepted_tokens_are_those_of_plain_decoding(any_model: Factory) -> None:
    model, plain, drafted = any_model(1), LogProbabilities(), LogProbabilities()
    text = written(model, NoDrafter(), TEXT[:6], sampler=plain)
    done = list(steps(model, Halves(TEXT[:6], text), TEXT[:6], 4, sampler=drafted))
    assert sum(step.num_accepted for step in done) > 5
    assert drafted.found == pytest.approx(plain.found, abs=1e-4)


@pytest.mark.trap(35)
def test_the_cache_of_transformers_counts_backwards() -> None:
    # positive numbers were once lengths; code written for that cuts everything else
    torch = pytest.importorskip("torch")
    from transformers.cache_utils import DynamicCache

    cache = DynamicCache()
    cache.update(torch.zeros(1, 2, 7, 4), torch.zeros(1, 2, 7, 4), 0)
    cache.crop(-3)
    assert cache.get_seq_length() == 4
    with pytest.raises(ValueError, match="positive"):
        cache.crop(2)


@pytest.mark.trap(35)
def test_no_deprecated_argument_of_transformers_is_used(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("torch")
    library = logging.getLogger("transformers")
    library.addHandler(caplog.handler)
    try:
        model = ENGINES["torch"](1)
        model.extend(TEXT[:5])
        model.extend(TEXT[5:6])
    finally:
        library.removeHandler(caplog.handler)
    assert [record.message for record in caplog.records if "deprecat" in record.message] == []
