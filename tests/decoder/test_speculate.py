from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import pytest

from decoder.accept import AcceptanceRule, Accepted
from decoder.drafters import NoDrafter
from decoder.sampler import Sampler
from decoder.sampling import NonFiniteLogitsError
from decoder.speculate import Step, speculate
from decoder.tally import Tally
from decoder.wire.messages import Sampling
from drafting.interface import Array, Draft, Drafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter
from tests.fakes import FixedDrafter, NumpyModel, RandomDrafter

CONTEXT = [3, 1, 4, 1, 5]


def greedy(model: NumpyModel, context: Sequence[int], max_tokens: int) -> list[int]:
    """What the model alone writes, one argmax at a time."""
    text = list(context)
    for _ in range(max_tokens):
        text.append(int(np.argmax(model.row(text))))
    return text[len(context) :]


def steps(
    model: NumpyModel | PrefixCache,
    drafter: Drafter,
    gamma: int | Callable[[], int],
    max_tokens: int,
    *,
    stop_ids: Sequence[int] = (),
    sampler: Sampler | None = None,
) -> list[Step]:
    target = model if isinstance(model, PrefixCache) else PrefixCache(model)
    asked = gamma if callable(gamma) else lambda: gamma
    sampler = sampler or Sampler(Sampling())
    return list(speculate(target, drafter, CONTEXT, sampler, gamma=asked, max_tokens=max_tokens, stop_ids=stop_ids))


def emitted(steps: Sequence[Step]) -> list[int]:
    return [token for step in steps for token in step.tokens]


class Corrupted:
    """Knows the right continuation, and spoils what the stream of random numbers says."""

    def __init__(self, text: Sequence[int], seed: int) -> None:
        self._right = FixedDrafter(text)
        self._random = np.random.default_rng(seed)

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        tokens = self._right.draft(context, gamma).tokens
        spoilt = self._random.random(len(tokens)) < 0.2
        return Draft(tuple(int(t) ^ int(s) for t, s in zip(tokens, spoilt, strict=True)), "corrupted")


@pytest.mark.trap(9)
def test_a_thousand_prompts_with_every_gamma_give_the_targets_own_text() -> None:
    model = NumpyModel(4)
    target = PrefixCache(model)
    prompts = np.random.default_rng(0).integers(0, 16, (1000, 4)).tolist()
    sampler = Sampler(Sampling())
    for number, prompt in enumerate(prompts):
        expected = greedy(model, prompt, 10)
        drafter = Corrupted([*prompt, *expected], number)
        for gamma in range(17):
            written = speculate(target, drafter, prompt, sampler, gamma=lambda: gamma, max_tokens=10)  # noqa: B023
            assert emitted(list(written)) == expected, f"prompt {prompt}, gamma {gamma}"


@pytest.mark.parametrize("gamma", [1, 2, 3, 5])
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.trap(17)
def test_exactly_as_many_tokens_as_asked_for_wherever_that_ends_a_draft(gamma: int, right: bool) -> None:
    model = NumpyModel(5)
    text = [*CONTEXT, *greedy(model, CONTEXT, 20)]
    drafter = FixedDrafter(text) if right else RandomDrafter(0, 16)
    for max_tokens in range(2 * gamma + 2):
        written = emitted(steps(model, drafter, gamma, max_tokens))
        model.rewind(0)
        assert written == text[len(CONTEXT) :][:max_tokens]


@pytest.mark.trap(12)
def test_a_model_drafting_for_itself_is_always_right() -> None:
    draft_cache = PrefixCache(NumpyModel(6))
    drafter = SmallModelDrafter(draft_cache, Sampler(Sampling()).pick)
    done = steps(NumpyModel(6), drafter, 4, 300)
    assert all(step.num_accepted == step.num_drafted for step in done)
    assert sum(step.num_drafted == 4 for step in done) >= 59


@pytest.mark.parametrize("rule", get_args(AcceptanceRule))
@pytest.mark.trap(12)
def test_a_model_drafting_for_itself_is_always_right_when_sampling_too(rule: AcceptanceRule) -> None:
    # one step later than a full acceptance the last draft token was missing in the draft model's cache
    sampler = Sampler(Sampling(temperature=1.0, seed=3), rule)
    drafter = SmallModelDrafter(PrefixCache(NumpyModel(6)), sampler.pick)
    done = steps(NumpyModel(6), drafter, 1, 400, sampler=sampler)
    assert len(done) == 200
    assert all(step.num_accepted == 1 for step in done)


@pytest.mark.trap(13)
def test_a_pause_in_drafting_does_not_make_drafts_worse() -> None:
    drafter = SmallModelDrafter(PrefixCache(NumpyModel(6)), Sampler(Sampling()).pick)
    gammas = iter([3, 0, 0, 0, 0, 0, 4, 0, 1] * 40)
    done = steps(NumpyModel(6), drafter, lambda: next(gammas), 200)
    assert {step.num_drafted for step in done} >= {0, 1, 3, 4}
    assert all(step.num_accepted == step.num_drafted for step in done)


@pytest.mark.parametrize("gamma", [0, 1, 3, 8])
@pytest.mark.parametrize("place", range(7))
@pytest.mark.trap(14)
def test_the_first_of_several_stop_tokens_ends_the_text_and_everything_else(gamma: int, place: int) -> None:
    model = NumpyModel(8)
    text = greedy(model, CONTEXT, 12)
    place = text.index(text[place])
    stops = [text[place], 15 if 15 not in text[:place] else text[place]]
    target = PrefixCache(model)
    done = steps(target, FixedDrafter([*CONTEXT, *text]), gamma, 12, stop_ids=stops)
    assert emitted(done) == text[: place + 1]
    assert list(target.tokens) == [*CONTEXT, *text[:place]], "nothing after the stop token stays in the cache"
    assert all(step.num_accepted <= min(step.num_drafted, len(step.tokens)) for step in done)


@pytest.mark.trap(15)
def test_a_drafted_stop_token_that_the_target_rejects_does_not_end_the_text() -> None:
    model = NumpyModel(5)
    text = greedy(model, CONTEXT, 8)
    stop = next(token for token in range(16) if token not in text)
    done = steps(model, FixedDrafter([*CONTEXT, stop, stop, stop]), 2, 8, stop_ids=[stop])
    assert emitted(done) == text


@pytest.mark.trap(18)
def test_drafts_never_reach_beyond_the_window_or_the_last_token_wanted() -> None:
    model = NumpyModel(5, context_length=12)
    drafter = FixedDrafter([*CONTEXT, *greedy(model, CONTEXT, 60)])
    assert len(emitted(steps(model, drafter, 9, 50))) == 12 - len(CONTEXT), "a full cache ends the text"
    assert drafter.asked == [6]
    drafter.asked.clear()
    steps(NumpyModel(5), drafter, 9, 4)
    assert drafter.asked == [3]


@pytest.mark.trap(18)
def test_a_draft_window_smaller_than_the_targets_falls_back_to_plain_decoding() -> None:
    model = NumpyModel(5)
    small = SmallModelDrafter(PrefixCache(NumpyModel(5, context_length=9)), Sampler(Sampling()).pick)
    done = steps(model, small, 3, 20)
    assert emitted(done) == greedy(model, CONTEXT, 20)
    assert done[0].num_drafted == 3
    assert all(step.num_drafted == 0 for step in done[-5:])


@pytest.mark.parametrize("context", [[], [1] * 12, [1] * 40])
def test_a_context_that_leaves_no_room_is_refused(context: list[int]) -> None:
    target = PrefixCache(NumpyModel(context_length=12))
    written = speculate(target, NoDrafter(), context, Sampler(Sampling()), gamma=lambda: 0, max_tokens=5)
    with pytest.raises(ValueError, match="does not fit a window of 12"):
        next(written)


def test_leaving_early_leaves_only_the_text_in_the_cache() -> None:
    target = PrefixCache(NumpyModel(5))
    written = speculate(target, RandomDrafter(1, 16), CONTEXT, Sampler(Sampling()), gamma=lambda: 4, max_tokens=50)
    kept = [*next(written).tokens, *next(written).tokens]
    written.close()
    text = [*CONTEXT, *kept]
    assert list(target.tokens) == text[: len(target.tokens)]
    assert len(target.tokens) >= len(text) - 1


class _Noting(Sampler):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(Sampling())
        self.positions: list[int] = []

    def accept(self, draft: Draft, logits: Array, position: int) -> Accepted:
        assert len(logits) == len(draft.tokens) + 1
        self.positions.append(position)
        return super().accept(draft, logits, position)


@pytest.mark.parametrize("gamma", [0, 1, 4])
@pytest.mark.trap(22)
def test_the_chooser_moves_on_by_what_was_written_and_not_by_what_was_drafted(gamma: int) -> None:
    model, chooser = NumpyModel(5), _Noting()
    drafter = Corrupted([*CONTEXT, *greedy(model, CONTEXT, 40)], 1)
    done = steps(model, drafter, gamma, 40, sampler=chooser)
    assert chooser.positions == [len(CONTEXT) + len(emitted(done[:number])) for number in range(len(done))]


class _BrokenRows(NumpyModel):
    """NaN in one row, from a certain length of text on."""

    broken_from = 8

    def row(self, tokens: Sequence[int]) -> Array:
        row = super().row(tokens)
        return row * np.nan if len(tokens) >= self.broken_from else row


@pytest.mark.trap(28)
def test_rows_without_meaning_are_an_error_and_leave_no_draft_behind() -> None:
    target = PrefixCache(_BrokenRows(5))
    text = [*CONTEXT, *greedy(NumpyModel(5), CONTEXT, 9)]
    wrong = [(token + 1) % 16 for token in text]
    with pytest.raises(NonFiniteLogitsError):
        steps(target, FixedDrafter(wrong), 2, 9)
    assert len(target.tokens) > len(CONTEXT)
    assert list(target.tokens) == text[: len(target.tokens)]


def test_a_failing_model_leaves_a_cache_that_can_be_used_again() -> None:
    model = NumpyModel(5)
    target = PrefixCache(model)
    written = speculate(target, RandomDrafter(1, 16), CONTEXT, Sampler(Sampling()), gamma=lambda: 3, max_tokens=20)
    next(written)
    model.fault = MemoryError("no memory")
    with pytest.raises(MemoryError):
        next(written)
    assert emitted(steps(target, RandomDrafter(2, 16), 3, 20)) == greedy(model, CONTEXT, 20)


@pytest.mark.parametrize("rule", get_args(AcceptanceRule))
@pytest.mark.parametrize("gamma", [0, 3])
@pytest.mark.trap(30)
def test_the_same_seed_and_gamma_reproduce_a_sampled_text(gamma: int, rule: AcceptanceRule) -> None:
    def written(seed: int) -> list[int]:
        sampler = Sampler(Sampling(temperature=1.0, top_p=0.9, seed=seed), rule)
        drafter = SmallModelDrafter(PrefixCache(NumpyModel(9)), sampler.pick)
        return emitted(steps(NumpyModel(5), drafter, gamma, 30, sampler=sampler))

    assert written(1) == written(1)
    assert len({tuple(written(seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize("gamma", [0, 1, 4, 9])
@pytest.mark.trap(31)
def test_the_statistics_reconcile_with_what_was_emitted(gamma: int) -> None:
    model = NumpyModel(5)
    drafter = Corrupted([*CONTEXT, *greedy(model, CONTEXT, 60)], 1)
    tally = Tally()
    for step in steps(model, drafter, gamma, 60):
        assert len(step.tokens) == step.num_accepted + 1
        assert step.num_accepted <= step.num_drafted <= gamma
        tally.add(step)
    counts = tally.speculation()
    assert counts.steps + counts.accepted == len(tally.tokens) == 60
    assert len(model.blocks) == counts.steps
    assert sum(model.blocks) == len(CONTEXT) + counts.steps - 1 + counts.drafted, "no padding is counted as drafted"
