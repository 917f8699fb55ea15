import numpy as np
import pytest

from decoder.drafters import LOOKUP_GAMMA, MODEL_GAMMA, Drafters, FirstOf, NoDrafter
from decoder.engine import EngineError
from decoder.sampler import Sampler
from decoder.wire import messages
from decoder.wire.messages import Complete, Sampling
from drafting.corpus import Corpus
from drafting.interface import Array, Draft, Vocabulary
from drafting.small_model import VocabularyMismatchError
from tests.fakes import FixedDrafter, NumpyModel

CONTEXT = [1, 2, 3, 9, 1, 2]
SAMPLER = Sampler(Sampling())


def request(draft: messages.Draft = "auto", *, gamma: int | None = None, line: int = 0) -> Complete:
    return Complete(1, "1:x", "python", "", "", draft=draft, gamma=gamma, line=line)


def digits(text: str) -> list[int]:
    return [int(character) for character in text if character.isdigit()]


def drafters(*, small: bool = False, corpus: Corpus | None = None) -> Drafters:
    return Drafters(NumpyModel(1), corpus or Corpus(digits), NumpyModel(2) if small else None)


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
    mine = Drafters(NumpyModel(1), Corpus(digits), model if small else None)
    list(mine.prepare(request(draft, gamma=gamma), CONTEXT))
    assert model.blocks == evaluated


@pytest.mark.parametrize(("draft", "remedy"), [("syntax", "use 'lookup'"), ("model", "set draft_model in config.toml")])
@pytest.mark.trap(23)
def test_what_is_not_available_is_refused_with_a_remedy(draft: messages.Draft, remedy: str) -> None:
    with pytest.raises(EngineError, match=remedy):
        drafters().make(request(draft), SAMPLER)


def test_the_lines_around_the_cursor_are_not_drafted_from() -> None:
    corpus = Corpus(digits)
    corpus.open("1:x", ["1 2 7\n"] + ["0\n"] * 60 + ["1 2 8\n"])
    own = drafters(corpus=corpus)
    assert own.make(request("lookup", line=0), SAMPLER).draft([4, 1, 2], 1).tokens == (8,)
    assert own.make(request("lookup", line=61), SAMPLER).draft([4, 1, 2], 1).tokens == (7,)


@pytest.mark.trap(19)
def test_a_draft_model_of_another_vocabulary_is_refused_by_name() -> None:
    other = NumpyModel(2)
    other.vocabulary = Vocabulary(16, "another")
    with pytest.raises(VocabularyMismatchError, match="numpy-2"):
        Drafters(NumpyModel(1), Corpus(digits), other)


class Elsewhere(NumpyModel):
    """Its rows lie on a device of their own, where all is negative."""

    def receive(self, row: Array) -> Array:
        return -row


def test_drafted_rows_are_sent_to_where_the_target_computes() -> None:
    sampler = Sampler(Sampling(temperature=1.0), "rejection")
    apart = Drafters(Elsewhere(1), Corpus(digits), NumpyModel(2)).make(request("model"), sampler).draft(CONTEXT, 2)
    beside = drafters(small=True).make(request("model"), Sampler(Sampling(temperature=1.0), "rejection"))
    together = beside.draft(CONTEXT, 2)
    assert apart.tokens == together.tokens
    assert np.array_equal(np.array(apart.probabilities), -np.array(together.probabilities))


def test_a_request_may_fix_the_length_of_drafts() -> None:
    mine = drafters(small=True)
    assert mine.gamma(request("auto")) == LOOKUP_GAMMA
    assert mine.gamma(request("model")) == MODEL_GAMMA
    assert mine.gamma(request("model", gamma=0)) == 0
    assert mine.gamma(request("lookup", gamma=3)) == 3
