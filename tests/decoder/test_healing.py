"""Token healing: the prompt's last token may grow, and nothing typed is changed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from decoder.healing import TokenHealing
from decoder.sampler import Sampler
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Sampling
from drafting.interface import Array, Vocabulary
from drafting.prefix_cache import PrefixCache

pytestmark = pytest.mark.starter


class Favourites:
    """A language model that likes given tokens at each step, the first of them best."""

    name = "favourites"
    context_length = 64
    min_rows, max_rows = 1, 256

    def __init__(self, vocabulary: Vocabulary, steps: Sequence[Sequence[int]]) -> None:
        self.vocabulary = vocabulary
        self._steps = list(steps)

    def extend(self, _tokens: Sequence[int], *, last: int | None = None) -> Array:
        row = np.zeros((1, self.vocabulary.size), dtype=np.float32)
        for rank, token in enumerate(self._steps.pop(0) if last == 1 else ()):
            row[0, token] = 10.0 - rank
        return row

    def rewind(self, length: int) -> None:
        pass


@pytest.fixture(scope="module")
def tokenizer(starter_folder: Path) -> Tokenizer:
    return Tokenizer.load(starter_folder)


@pytest.fixture(scope="module")
def healing(tokenizer: Tokenizer) -> TokenHealing:
    return TokenHealing(tokenizer)


def taken_back(tokenizer: Tokenizer, text: str) -> tuple[list[int], bytes]:
    """The tokens of `text` but the last, and what that one stands for."""
    *kept, last = tokenizer.encode(text)
    return kept, tokenizer.token_bytes(last)


def heal(tokenizer: Tokenizer, healing: TokenHealing, text: str, *steps: Sequence[str]) -> str:
    """The prompt's text after healing, with a model that likes the given texts' tokens at each step."""
    kept, typed = taken_back(tokenizer, text)
    liked = [[token for each in step if (token := tokenizer.token_id(each)) is not None] for step in steps]
    context = list(kept)
    model = Favourites(tokenizer.vocabulary, liked)
    for step in healing.write(PrefixCache(model), context, typed, Sampler(Sampling())):
        assert len(step.tokens) == 1
    return tokenizer.decode(context)


def test_an_identifier_grows_into_the_token_that_the_target_prefers(
    tokenizer: Tokenizer, healing: TokenHealing
) -> None:
    assert heal(tokenizer, healing, "self.he", ["height"]) == "self.height"


def test_a_preferred_token_that_contradicts_what_was_typed_is_not_chosen(
    tokenizer: Tokenizer, healing: TokenHealing
) -> None:
    assert heal(tokenizer, healing, "self.he", ["width", "height"]) == "self.height"


def test_spaces_of_an_indentation_may_become_part_of_the_next_word(tokenizer: Tokenizer, healing: TokenHealing) -> None:
    assert heal(tokenizer, healing, "x =", ["Ġ="], ["Ġ"]) == "x ="
    assert heal(tokenizer, healing, "x = ", ["Ġreturn"]) == "x = return"


def test_several_tokens_may_stand_for_what_was_one(tokenizer: Tokenizer, healing: TokenHealing) -> None:
    last = tokenizer.token_bytes(tokenizer.encode("def total")[-1]).decode()
    assert last == " total"
    assert heal(tokenizer, healing, "def total", ["Ġto"], ["tales"]) == "def totales"


class Noting:
    """Chooses greedily and remembers for which positions."""

    def __init__(self) -> None:
        self.positions: list[int] = []

    def choose(self, logits: Array, position: int) -> int:
        self.positions.append(position)
        return int(np.argmax(logits))


@pytest.mark.trap(22)
def test_each_token_is_chosen_once_for_its_place_in_the_text(tokenizer: Tokenizer, healing: TokenHealing) -> None:
    # what is drawn there must not depend on how many tokens stand for what was typed
    kept, typed = taken_back(tokenizer, "x = def total")
    pieces = [token for piece in ("Ġto", "tales") if (token := tokenizer.token_id(piece)) is not None]
    chooser, context = Noting(), list(kept)
    steps = list(
        healing.write(PrefixCache(Favourites(tokenizer.vocabulary, [[p] for p in pieces])), context, typed, chooser)
    )
    assert [step.tokens for step in steps] == [(piece,) for piece in pieces]
    assert chooser.positions == [len(kept), len(kept) + 1]


@pytest.mark.parametrize("seed", range(4))
def test_sampled_tokens_agree_with_what_was_typed_and_with_the_seed(
    tokenizer: Tokenizer, healing: TokenHealing, seed: int
) -> None:
    kept, typed = taken_back(tokenizer, "self.he")

    def written(sampler: Sampler) -> list[int]:
        context = list(kept)
        list(healing.write(PrefixCache(Favourites(tokenizer.vocabulary, [()] * 9)), context, typed, sampler))
        return context

    used = Sampler(Sampling(temperature=1.0, seed=seed))
    text = written(used)
    assert tokenizer.decode(text).startswith("self.he")
    assert written(used) == text == written(Sampler(Sampling(temperature=1.0, seed=seed)))
    assert written(Sampler(Sampling(temperature=1.0, seed=seed + 100))) != text


def test_a_full_window_ends_it(tokenizer: Tokenizer, healing: TokenHealing) -> None:
    # tokens of one character each did not fit any more, which was an error instead of an answer
    letters = [tokenizer.token_id(letter) for letter in ("Ġ", "t", "o", "t")]
    model = Favourites(tokenizer.vocabulary, [[letter] for letter in letters if letter is not None])
    context = [5000] * (model.context_length - 1)
    steps = list(healing.write(PrefixCache(model), context, b" total", Sampler(Sampling())))
    assert [step.tokens[0] for step in steps] == letters[:2]
    assert len(context) == model.context_length + 1, "the last token is written, and never read"


def test_special_tokens_never_agree_with_typed_text(tokenizer: Tokenizer, healing: TokenHealing) -> None:
    for typed in (b"<", b"<|", b"<|im_end|>", b"\n"):
        assert not tokenizer.special_ids & set(healing.agreeing(typed).tolist())


def test_agreeing_tokens_are_those_a_scan_of_the_vocabulary_finds(tokenizer: Tokenizer, healing: TokenHealing) -> None:
    for typed in (b"he", b"    ", b"\n", "é".encode(), "漢".encode()[:2], b"return"):
        scanned = {
            token
            for token in range(tokenizer.vocabulary.size)
            if token not in tokenizer.special_ids
            and (text := tokenizer.token_bytes(token))
            and (text.startswith(typed) or typed.startswith(text))
        }
        assert set(healing.agreeing(typed).tolist()) == scanned
        assert scanned, typed


def test_a_shorter_token_is_not_offered_where_no_token_can_write_the_rest(healing: TokenHealing) -> None:
    """The starter has no token for some control bytes: choosing `a` of `a\\x04` would leave nothing to choose."""
    assert healing.agreeing(b"a\x04").tolist() == []
    assert healing.agreeing(b"ab").tolist() != []
