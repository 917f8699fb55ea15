"""The cascade: who speaks, how long, what is learned from drafts that nobody used, and what the load allows."""

from collections.abc import Sequence

import pytest

from drafting.cascade import Cascade, Permit, joined
from drafting.gamma import PROBE_EVERY, GammaTuner
from drafting.interface import Draft
from drafting.survival import Situation

TEXT = list(range(100, 200))


class Cost:
    """Milliseconds of a pass: `first` and `more` for each further row."""

    def __init__(self, first: float = 10.0, more: float = 1.0) -> None:
        self._first, self._more = first, more

    def of(self, rows: int) -> float:
        return self._first + self._more * (rows - 1)


class Lookup:
    """Knows TEXT as far as `right` tokens ahead, and is as sure as it says."""

    def __init__(self, right: int, bucket: int = 8) -> None:
        self._right, self._bucket = right, bucket

    def candidates(self, context: Sequence[int], gamma: int) -> Sequence[Draft]:
        at = len(context)
        tokens = [*TEXT[at : at + self._right], *[0] * gamma][:gamma]
        return [Draft(tuple(tokens), "lookup", bucket=self._bucket)] if tokens else []


class Model:
    """A draft model that knows TEXT."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        self.asked.append(gamma)
        return Draft(tuple(TEXT[len(context) : len(context) + gamma]), "model")


def write(cascade: Cascade, steps: int, *, gamma: int = 15) -> list[Draft]:
    """The drafts for a target that writes TEXT."""
    length, drafts = 1, []
    for _ in range(steps):
        draft = cascade.draft(TEXT[:length], gamma)
        drafts.append(draft)
        stood = next((i for i, token in enumerate(draft.tokens) if token != TEXT[length + i]), len(draft.tokens))
        length += stood + 1
    cascade.finish(TEXT[:length])
    return drafts


def test_lookup_alone_is_cut_where_tokens_stop_paying() -> None:
    tuner = GammaTuner(Cost())
    for _ in range(20):
        write(Cascade(tuner, "python", lookup=Lookup(right=3)), 10)
    assert {len(draft.tokens) for draft in write(Cascade(tuner, "python", lookup=Lookup(right=3)), 10)} <= {3, 4}


def test_lookup_that_is_always_wrong_falls_silent_and_is_still_graded() -> None:
    tuner = GammaTuner(Cost(10.0, 5.0))
    for _ in range(20):
        write(Cascade(tuner, "python", lookup=Lookup(right=0)), 10)
    assert {len(draft.tokens) for draft in write(Cascade(tuner, "python", lookup=Lookup(right=0)), 10)} == {0}
    for _ in range(40):  # it has become better, and nobody used it meanwhile
        write(Cascade(tuner, "python", lookup=Lookup(right=6)), 10)
    assert len(write(Cascade(tuner, "python", lookup=Lookup(right=6)), 5)[-1].tokens) >= 4


def test_the_model_drafts_where_lookup_expects_less() -> None:
    tuner = GammaTuner(Cost(), ms_per_draft_token=0.5)
    sure, vague = Model(), Model()
    write(Cascade(tuner, "python", lookup=Lookup(right=15, bucket=9), model=sure), 3)
    write(Cascade(tuner, "python", lookup=Lookup(right=0, bucket=0), model=vague), 3)
    assert sure.asked == []
    assert len(vague.asked) == 3


def test_lookup_continues_after_the_model() -> None:
    tuner = GammaTuner(Cost(10.0, 0.0), ms_per_draft_token=1.5)
    draft = write(Cascade(tuner, "python", lookup=_After(), model=Model()), 1)[0]
    assert draft.source == "model"
    assert draft.tail[0] == "lookup"
    assert draft.tokens == tuple(TEXT[1 : 1 + len(draft.tokens)])
    assert len(draft.tokens) == 15


class _After:
    """Knows nothing at first, and everything once somebody has begun."""

    def candidates(self, context: Sequence[int], gamma: int) -> Sequence[Draft]:
        at = len(context)
        return [] if at == 1 else [Draft(tuple(TEXT[at : at + gamma]), "lookup", bucket=9)]


def test_the_load_takes_the_model_away_and_leaves_what_is_free() -> None:
    model = Model()
    tuner = GammaTuner(Cost(), ms_per_draft_token=0.5)
    busy = Permit(model=False, only_free=True)
    drafts = write(Cascade(tuner, "go", lookup=Lookup(right=15, bucket=9), model=model, permit=lambda: busy), 3)
    assert model.asked == []
    assert {len(draft.tokens) for draft in drafts} == {0}


def test_a_model_that_does_not_pay_is_probed() -> None:
    model = Model()
    tuner = GammaTuner(Cost(10.0, 0.0), ms_per_draft_token=0.5)
    for _ in range(400):
        tuner.survival.learn(Situation("go", "model", 0, 0), 0, fell=True)
    write(Cascade(tuner, "go", model=model), PROBE_EVERY)
    assert model.asked == [2]


def test_beyond_the_draft_models_window_lookup_drafts() -> None:
    class Full(Model):
        def draft(self, context: Sequence[int], gamma: int) -> Draft:
            super().draft(context, gamma)
            return Draft()

    tuner = GammaTuner(Cost(10.0, 0.5), ms_per_draft_token=0.1)
    drafts = write(Cascade(tuner, "go", lookup=Lookup(right=4, bucket=3), model=Full()), 3)
    assert all(draft.source == "lookup" and draft.tokens for draft in drafts)


def test_the_end_of_a_text_is_learned_from() -> None:
    tuner = GammaTuner(Cost(10.0, 0.0))
    cascade = Cascade(tuner, "go", lookup=Lookup(right=15, bucket=9))
    cascade.draft(TEXT[:1], 15)
    cascade.finish(TEXT[:4])
    assert [tested for _, tested in tuner.survival.situations()] == [1.0]


def test_never_more_than_there_is_room_for() -> None:
    tuner = GammaTuner(Cost(10.0, 0.0), ms_per_draft_token=0.1)
    cascade = Cascade(tuner, "go", lookup=Lookup(right=15, bucket=9), model=Model())
    assert all(len(draft.tokens) <= 2 for draft in write(cascade, 5, gamma=2))
    assert cascade.draft(TEXT[:50], 0).tokens == ()


def test_outcomes_of_steps_are_told_apart() -> None:
    tuner = GammaTuner(Cost(10.0, 0.0))
    write(Cascade(tuner, "go", lookup=Lookup(right=15, bucket=9)), 4)
    assert tuner.survival.hazards(Situation("go", "lookup", 9, 3), 1) != tuner.survival.hazards(
        Situation("go", "lookup", 9, 1), 1
    )


def test_joined_drafts_keep_their_rows() -> None:
    both = joined(Draft((1, 2), "model", ("p", "q")), Draft((3,), "lookup"))
    assert both == Draft((1, 2, 3), "model", ("p", "q", None), tail=("lookup", 1))
    assert joined(Draft((1,), "model"), Draft()) == Draft((1,), "model")


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (4, Draft((1, 2, 3), "model", ("p", "q", None), tail=("lookup", 1))),
        (2, Draft((1, 2), "model", ("p", "q"))),
        (0, Draft()),
    ],
)
def test_a_cut_draft_keeps_what_belongs_to_its_tokens(gamma: int, expected: Draft) -> None:
    assert Draft((1, 2, 3), "model", ("p", "q", None), tail=("lookup", 1)).cut(gamma) == expected
