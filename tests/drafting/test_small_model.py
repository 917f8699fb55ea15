from collections.abc import Sequence

import numpy as np
import pytest

from drafting.interface import Array, Vocabulary
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter, VocabularyMismatchError, require_same_vocabulary
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
