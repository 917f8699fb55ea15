"""Keys and values on OpenVINO: after any rewind, copy, recall or eviction they are those of a fresh prefill."""

from collections.abc import Sequence

import numpy as np
import pytest

from decoder.openvino_engine.blocks import BLOCK
from decoder.openvino_model import MIN_ROWS, OpenVinoModel
from drafting.interface import Recalling
from drafting.prefix_cache import PrefixCache
from tests.decoder.tiny_openvino import TEXT, VOCABULARY, assert_as_fresh, fresh_rows, load, random_text


@pytest.mark.parametrize("size", range(MIN_ROWS, 17))
def test_after_any_acceptance_the_cache_equals_a_fresh_prefill(model: OpenVinoModel, size: int) -> None:
    """A block of the last token and a draft, of which so many tokens are right."""
    for start in (20, 30, 64):
        for num_right in range(1, size + 1):
            model.rewind(0)
            model.extend(TEXT[:start], last=0)
            wrong = [(token + 1) % VOCABULARY for token in TEXT[start + num_right : start + size]]
            model.extend([*TEXT[start : start + num_right], *wrong])
            model.rewind(start + num_right)
            assert_as_fresh(model, TEXT[: start + num_right])
        rows = model.extend(TEXT[start + size : start + 40])
        assert np.array_equal(rows, fresh_rows(TEXT[: start + 40])[start + size :])


def test_rewinding_moves_and_frees_nothing(model: OpenVinoModel) -> None:
    model.extend(TEXT)
    table, places = list(model._sequence.table), [cache.ctypes.data for cache in model._caches]
    for length in (150, 149, 40, 5, 0):
        model.rewind(length)
        model.extend(TEXT[length : length + 3])
        model.rewind(length)
        assert model._sequence.table == table
    assert [cache.ctypes.data for cache in model._caches] == places


def follow(model: OpenVinoModel, text: Sequence[int]) -> int:
    """As a request does. Returns how many tokens were known."""
    known = model.recall(text[:-1])
    model.extend(text[known:], last=1)
    return known


def test_it_recalls(model: OpenVinoModel) -> None:
    assert isinstance(model, Recalling)


def test_a_document_left_and_come_back_to_is_not_evaluated_again() -> None:
    model = load(context_length=200, kv_bytes=1 << 20)
    first, second = TEXT[:150], random_text(7, 130)
    assert (follow(model, first), follow(model, second)) == (0, 0)
    assert follow(model, first) == 4 * BLOCK
    assert_as_fresh(model, first)
    assert follow(model, second) == 4 * BLOCK
    assert_as_fresh(model, second)


def test_writing_into_a_shared_block_leaves_the_other_document_alone() -> None:
    model = load(kv_bytes=1 << 20)
    first = TEXT[:100]
    follow(model, first)
    follow(model, random_text(7, 40))
    follow(model, first)
    for cut in (70, 40, 64, 1):
        changed = [*first[:cut], *random_text(cut, 25)]
        assert model.recall(changed) == cut
        assert np.array_equal(model.extend(changed[cut:]), fresh_rows(changed)[cut:])
        assert_as_fresh(model, changed)
        assert follow(model, first) == 3 * BLOCK
        assert_as_fresh(model, first)


@pytest.mark.trap(28)
def test_what_is_forgotten_is_not_found_again() -> None:
    # after logits without meaning the blocks that led to them were found again, and every later request failed as well
    model = load(kv_bytes=1 << 20)
    first = TEXT[:100]
    follow(model, first)
    for cache in model._caches:
        cache[...] = np.nan
    follow(model, random_text(7, 40))
    assert model.recall(first) == 3 * BLOCK
    assert np.isnan(model.extend(first[96:])).all()
    model.forget()
    assert model._sequence.tokens == model._sequence.table == []
    assert follow(model, first) == 0
    assert_as_fresh(model, first)
    assert sorted(model._sequence._free + model._sequence.table) == list(range(model._sequence._num_blocks))


def test_more_memory_holds_more_documents() -> None:
    documents = [random_text(seed, 100) for seed in range(3)]
    block_bytes = 2 * 2 * 2 * 8 * BLOCK * 2  # keys and values, layers, heads, head_dim, tokens, bytes
    known = []
    for num_blocks in (0, 8, 12):
        model = load(context_length=100, kv_bytes=num_blocks * block_bytes)
        for document in documents:
            follow(model, document)
        known.append(sum(follow(model, document) >= 3 * BLOCK for document in reversed(documents)))
    assert known == [1, 2, 3]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_followed_in_little_memory_it_is_as_if_it_were_new(seed: int) -> None:
    chance = np.random.default_rng(seed)
    beginning = random_text(90, 70)
    documents = [beginning[: 10 * number] + random_text(number, 110 - 10 * number) for number in range(6)]
    model = load(context_length=110)  # room for one and a bit
    num_known = 0
    for _ in range(40):
        document = documents[chance.integers(len(documents))]
        end = int(chance.integers(2, len(document)))
        num_known += follow(model, document[:end])
        assert_as_fresh(model, document[:end])
        size = int(chance.integers(1, 1 + min(16, len(document) - end)))
        rows = model.extend(document[end : end + size])
        assert np.array_equal(rows, fresh_rows(document[: end + size])[end:])
        model.rewind(int(chance.integers(0, end + size + 1)))
    assert num_known > 500


def test_a_prefix_cache_resumes_what_the_model_holds() -> None:
    cache = PrefixCache(load(kv_bytes=1 << 20))
    first, second = TEXT[:100], random_text(7, 50)
    for document, known in ((first, 0), (second, 0), (first, 96), (first[:90] + second[:9], 90), (second, 32)):
        assert cache.resume(document) == known
        cache.extend(document[known:], last=0)
        assert list(cache.tokens) == document
        assert_as_fresh(cache.model, document)  # type: ignore[arg-type]
