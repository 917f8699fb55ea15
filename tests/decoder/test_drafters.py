import numpy as np
import pytest

from decoder.drafters import Drafters, FirstOf, NoDrafter
from decoder.engine import EngineError
from decoder.sampler import Sampler
from decoder.speculate import Step
from decoder.wire import messages
from decoder.wire.messages import Complete, Sampling
from drafting.cascade import Permit
from drafting.corpus import Corpus
from drafting.gamma import MOST_GAMMA
from drafting.interface import Array, Draft, Learning, Vocabulary
from drafting.small_model import VocabularyMismatchError
from tests.fakes import FixedDrafter, NumpyModel

CONTEXT = [1, 2, 3, 9, 1, 2]
SAMPLER = Sampler(Sampling())


def request(draft: messages.Draft = "auto", *, gamma: int | None = None, line: int = 0) -> Complete:
    return Complete(1, "1:x", "python", "", "", draft=draft, gamma=gamma, line=line)


def digits(text: str) -> list[int]:
    return [int(character) for character in text if character.isdigit()]


class Digits:
    """A tokenizer with a token for each digit."""

    def encode(self, text: str) -> list[int]:
        return digits(text)

    def token_bytes(self, token: int) -> bytes:
        return b"%d " % token


def drafters(*, small: bool = False, corpus: Corpus | None = None) -> Drafters:
    return Drafters(NumpyModel(1), corpus or Corpus(digits), NumpyModel(2) if small else None, spelling=Digits())


def test_the_first_drafter_with_something_to_say_speaks() -> None:
    silent, first, second = NoDrafter(), FixedDrafter([0, 5, 6], source="a"), FixedDrafter([0, 7], source="b")
    assert FirstOf(silent, first, second).draft([0], 2) == Draft((5, 6), "a")
    assert second.asked == []
    assert FirstOf(silent, silent).draft([0], 2) == Draft()


@pytest.mark.parametrize(
    ("draft", "small", "source"),
    [
        ("none", True, "none"),
        ("lookup", True, "lookup"),
        ("syntax", True, "lookup"),
        ("model", True, "model"),
        ("auto", True, "lookup"),
        ("auto", False, "lookup"),
    ],
)
def test_the_request_chooses_the_drafter(draft: messages.Draft, small: bool, source: str) -> None:
    assert drafters(small=small).make(request(draft), SAMPLER).draft(CONTEXT, 3).source == source


def test_auto_asks_the_model_where_lookup_knows_nothing() -> None:
    assert drafters(small=True).make(request("auto"), SAMPLER).draft([1, 2, 3], 3).source == "model"


@pytest.mark.parametrize(
    ("draft", "gamma", "small", "evaluated"),
    [
        ("model", None, True, [5]),
        ("auto", 2, True, [5]),
        ("model", 0, True, []),
        ("lookup", None, True, []),
        ("none", None, True, []),
        ("auto", None, False, []),
    ],
)
def test_the_draft_model_reads_the_prompt_where_it_may_be_asked(
    draft: messages.Draft, gamma: int | None, small: bool, evaluated: list[int]
) -> None:
    model = NumpyModel(2)
    mine = Drafters(NumpyModel(1), Corpus(digits), model if small else None, spelling=Digits())
    list(mine.prepare(request(draft, gamma=gamma), CONTEXT))
    assert model.blocks == evaluated


@pytest.mark.trap(23)
def test_what_is_not_available_is_refused_with_a_remedy() -> None:
    with pytest.raises(EngineError, match=r"set draft_model in config\.toml"):
        drafters().make(request("model"), SAMPLER)


def test_the_lines_around_the_cursor_are_not_drafted_from() -> None:
    corpus = Corpus(digits)
    corpus.open("1:x", ["1 2 7\n"] + ["0\n"] * 2000 + ["1 2 8\n"])
    own = drafters(corpus=corpus)
    assert own.make(request("lookup", line=0), SAMPLER).draft([4, 1, 2], 1).tokens == (8,)
    assert own.make(request("lookup", line=2001), SAMPLER).draft([4, 1, 2], 1).tokens == (7,)


@pytest.mark.trap(19)
def test_a_draft_model_of_another_vocabulary_is_refused_by_name() -> None:
    other = NumpyModel(2)
    other.vocabulary = Vocabulary(16, "another")
    with pytest.raises(VocabularyMismatchError, match="numpy-2"):
        Drafters(NumpyModel(1), Corpus(digits), other, spelling=Digits())


class Elsewhere(NumpyModel):
    """Its rows lie on a device of their own, where all is negative."""

    def receive(self, row: Array) -> Array:
        return -row


def test_drafted_rows_are_sent_to_where_the_target_computes() -> None:
    sampler = Sampler(Sampling(temperature=1.0), "rejection")
    there = Drafters(Elsewhere(1), Corpus(digits), NumpyModel(2), spelling=Digits())
    apart = there.make(request("model", gamma=2), sampler).draft(CONTEXT, 2)
    beside = drafters(small=True).make(request("model", gamma=2), Sampler(Sampling(temperature=1.0), "rejection"))
    together = beside.draft(CONTEXT, 2)
    assert apart.tokens == together.tokens
    assert np.array_equal(np.array(apart.probabilities), -np.array(together.probabilities))


def test_a_request_may_fix_the_length_of_drafts() -> None:
    mine = drafters(small=True)
    assert mine.gamma(request("auto")) == mine.gamma(request("model")) == MOST_GAMMA
    assert mine.gamma(request("model", gamma=0)) == 0
    assert mine.gamma(request("lookup", gamma=3)) == 3


def test_under_load_the_draft_model_is_not_asked_and_not_even_prepared() -> None:
    model = NumpyModel(2)
    busy = Permit(model=False, only_free=True)
    mine = Drafters(NumpyModel(1), Corpus(digits), model, spelling=Digits(), permit=lambda: busy)
    assert mine.permitted(request("auto")).draft == "syntax"
    assert mine.permitted(request("model")).draft == "none"
    assert mine.permitted(request("model", gamma=2)).draft == "model"  # asked for by name and length
    assert mine.permitted(request("lookup")).draft == "lookup"
    asked = mine.permitted(request("auto"))
    list(mine.prepare(asked, CONTEXT))
    assert mine.make(asked, SAMPLER).draft([1, 2, 3], 3).source != "model"
    assert model.blocks == []


def test_requests_share_what_was_learned_unless_they_bring_a_tuner_of_their_own() -> None:
    mine = drafters()
    apart = mine.fresh_tuner()
    for tuner in (None, apart):
        drafter = mine.make(request("lookup"), SAMPLER, tuner)
        drafter.draft(CONTEXT, 3)
        assert isinstance(drafter, Learning)
        drafter.finish([*CONTEXT, 9])
    assert mine.tuner.survival.state() == apart.survival.state() != []


def test_each_language_has_texts_and_keywords_of_its_own() -> None:
    mine = drafters()
    languages = [f"language-{number}" for number in range(20)]
    for language in [*languages, languages[0]]:
        asked = Complete(1, "1:x", language, "", "", draft="syntax", gamma=3)
        assert mine.make(asked, SAMPLER).draft(CONTEXT, 3).tokens[0] == 3


def test_passes_taken_refresh_their_costs() -> None:
    mine = drafters()
    before = mine.tuner.cost.of(16) / mine.tuner.cost.of(1)
    for _ in range(200):
        mine.learn(Step((1,), 0, 0, "none", num_rows=1, milliseconds=10.0))
        mine.learn(Step((1,), 15, 0, "lookup", num_rows=16, milliseconds=100.0))
    assert mine.tuner.cost.of(16) / mine.tuner.cost.of(1) > 3 * before
