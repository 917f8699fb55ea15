from collections.abc import Sequence

import numpy as np
import pytest

from drafting.interface import Array, Vocabulary
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter, VocabularyMismatchError, catch_up, require_same_vocabulary
from tests.drafting.remembering import Remembering
from tests.fakes import NumpyModel


def argmax(logits: Array, _position: int) -> tuple[int, Array | None]:
    return int(np.argmax(logits)), None


def written(model: NumpyModel, context: Sequence[int], count: int) -> list[int]:
    """What the model writes by itself, greedily."""
    text = list(context)
    for _ in range(count):
        text.append(int(np.argmax(model.row(text))))
    return text[len(context) :]


def test_drafts_what_the_small_model_would_write() -> None:
    model = NumpyModel(1)
    draft = SmallModelDrafter(PrefixCache(model), argmax).draft([1, 2, 3], 5)
    assert list(draft.tokens) == written(model, [1, 2, 3], 5)
    assert draft.source == "model"


@pytest.mark.trap(3)
def test_argmax_has_no_probabilities() -> None:
    assert SmallModelDrafter(PrefixCache(NumpyModel()), argmax).draft([1], 3).probabilities is None


def test_drawn_tokens_carry_the_rows_they_were_drawn_from() -> None:
    rows: list[Array] = []
    positions: list[int] = []

    def pick(logits: Array, position: int) -> tuple[int, Array | None]:
        weights = np.exp(logits) / np.exp(logits).sum()
        rows.append(weights)
        positions.append(position)
        return int(np.argmax(weights)), weights

    draft = SmallModelDrafter(PrefixCache(NumpyModel()), pick).draft([1, 2], 4)
    assert draft.probabilities is not None
    assert all(mine is drawn for mine, drawn in zip(draft.probabilities, rows, strict=True))
    assert positions == [2, 3, 4, 5]


def test_each_row_sets_off_to_the_target_before_the_next_pass() -> None:
    model, sent = NumpyModel(), list[tuple[int, Array]]()

    def pick(logits: Array, position: int) -> tuple[int, Array | None]:
        return int(np.argmax(logits)), logits if position != 4 else None

    def receive(row: Array) -> Array:
        sent.append((len(model.blocks), row))
        return row + 1

    drafter = SmallModelDrafter(PrefixCache(model), pick, receive)
    draft = drafter.draft([1, 2], 2)
    assert [passes for passes, _ in sent] == [1, 2]
    assert np.array_equal(np.array(draft.probabilities), np.array([row + 1 for _, row in sent]))
    assert drafter.draft([1, 2, 3, 4], 1).probabilities is None, "no row, nothing to send"
    assert len(sent) == 2


@pytest.mark.parametrize("pauses", [1, 2, 7])
@pytest.mark.trap(13)
def test_a_draft_is_the_same_whether_or_not_it_was_asked_all_the_time(pauses: int) -> None:
    busy, paused = (SmallModelDrafter(PrefixCache(NumpyModel(2)), argmax) for _ in range(2))
    text = [5, 1]
    for step in range(40):
        draft = busy.draft(text, 4)
        if step % (pauses + 1) == 0:
            assert paused.draft(text, 4) == draft
        text.append(draft.tokens[0] if step % 3 else 7)  # every third time the target disagrees


def test_each_token_is_evaluated_once_while_the_target_agrees() -> None:
    model = NumpyModel()
    drafter = SmallModelDrafter(PrefixCache(model), argmax)
    text = [1, 2, 3]
    for _ in range(5):
        text += [*drafter.draft(text, 3).tokens, 0]
    assert sum(model.blocks) <= len(text)


def test_drafts_as_far_as_its_own_window_reaches() -> None:
    drafter = SmallModelDrafter(PrefixCache(NumpyModel(context_length=8)), argmax)
    assert len(drafter.draft([1] * 5, 6).tokens) == 3
    assert not drafter.draft([1] * 8, 6).tokens
    assert not drafter.draft([1] * 30, 6).tokens
    assert len(drafter.draft([1] * 4, 2).tokens) == 2


def test_nothing_is_drafted_from_nothing() -> None:
    drafter = SmallModelDrafter(PrefixCache(NumpyModel()), argmax)
    assert not drafter.draft([], 4).tokens
    assert not drafter.draft([1], 0).tokens


def test_catching_up_goes_a_pass_at_a_time_and_leaves_the_drafts_as_they_are() -> None:
    model = NumpyModel(3)
    model.max_rows = 4
    cache = PrefixCache(model)
    context = [number % 7 for number in range(11)]
    assert list(catch_up(cache, context)) == [4, 8, 10]
    draft = SmallModelDrafter(cache, argmax).draft(context, 3)
    assert list(draft.tokens) == written(model, context, 3)
    assert model.blocks == [4, 4, 2, 1, 1, 1]
    assert list(catch_up(cache, context)) == []


def test_catching_up_that_was_left_half_way_costs_nothing_twice() -> None:
    model = NumpyModel(3)
    model.max_rows = 4
    drafter = SmallModelDrafter(PrefixCache(model), argmax)
    context = [number % 7 for number in range(11)]
    next(catch_up(drafter._cache, context))
    assert list(drafter.draft(context, 2).tokens) == written(model, context, 2)
    assert model.blocks == [4, 7, 1]


def test_going_back_to_an_earlier_document_evaluates_what_is_new_in_it() -> None:
    # the draft model read the whole document again at every change of window
    model = Remembering()
    cache = PrefixCache(model)
    for context in ([1, 2, 3, 0, 1], [2, 2, 2, 0], [1, 2, 3, 0, 2, 3]):
        list(catch_up(cache, context))
        SmallModelDrafter(cache, argmax).draft(context, 1)
    assert model.blocks == [4, 1, 3, 1, 1, 1], "of the third context one token before the last"


def test_nothing_is_caught_up_with_beyond_the_window() -> None:
    model = NumpyModel(context_length=8)
    for context in ([], [1] * 8, [1] * 30):
        assert list(catch_up(PrefixCache(model), context)) == []
    assert model.blocks == []


def test_a_failing_model_does_not_spoil_later_drafts() -> None:
    model = NumpyModel()
    drafter = SmallModelDrafter(PrefixCache(model), argmax)
    drafter.draft([1, 2, 3], 2)
    model.fault = MemoryError("no memory")
    with pytest.raises(MemoryError):
        drafter.draft([1, 2, 3, 4], 2)
    assert list(drafter.draft([1, 2, 3, 4], 3).tokens) == written(model, [1, 2, 3, 4], 3)


@pytest.mark.trap(19)
def test_models_of_unlike_vocabularies_are_refused_by_name() -> None:
    target, draft = NumpyModel(1), NumpyModel(2)
    require_same_vocabulary(target, draft)
    draft.vocabulary = Vocabulary(16, "another")
    with pytest.raises(VocabularyMismatchError, match=r"numpy-2 \(16 tokens\) cannot draft for numpy-1 \(16 tokens\)"):
        require_same_vocabulary(target, draft)
