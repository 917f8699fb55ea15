"""What `extend`, `rewind` and `recall` promise, to the last bit, on tiny random models and on the starter."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from decoder.openvino_engine.blocks import BLOCK
from decoder.openvino_engine.shape import UnsupportedModelError
from decoder.openvino_model import MIN_ROWS, OpenVinoModel, Precision
from drafting.interface import Recalling, Vocabulary
from drafting.prefix_cache import PrefixCache
from tests.engines import stored_model

Rows = NDArray[np.float32]
PRECISIONS = get_args(Precision)
VOCABULARY = 64


def random_text(seed: int, length: int, vocabulary: int = VOCABULARY) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, vocabulary, length)]


TEXT = random_text(0, 200)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prepared")


class Loader:
    """Loads tiny models; weights are compressed once."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def __call__(self, folder: Path | None = None, **changes: Any) -> OpenVinoModel:
        settings: dict[str, Any] = {
            "context_length": 256,
            "precision": "float16",
            "vocabulary": VOCABULARY,
            "threads": 1,
        }
        settings |= changes
        vocabulary = Vocabulary(settings.pop("vocabulary"), "tiny")
        return OpenVinoModel.load(
            folder or stored_model(1), name="tiny", vocabulary=vocabulary, cache=self._cache, **settings
        )


@pytest.fixture(scope="module")
def load(cache: Path) -> Loader:
    return Loader(cache)


@pytest.fixture(scope="module")
def shared(load: Loader) -> OpenVinoModel:
    return load()


@pytest.fixture
def model(shared: OpenVinoModel) -> OpenVinoModel:
    """With the settings of a new one, and nothing in its cache."""
    shared.min_rows, shared.max_rows = MIN_ROWS, 256
    shared.recall([])
    return shared


@pytest.fixture(scope="module")
def fresh(load: Loader) -> "Fresh":
    return Fresh(load())


class Fresh:
    """What a text leaves in an empty cache if it is evaluated at once."""

    def __init__(self, model: OpenVinoModel) -> None:
        self._model = model
        self._known: dict[tuple[int, ...], tuple[Rows, list[NDArray[np.float16]]]] = {}

    def rows(self, text: Sequence[int]) -> Rows:
        return self._of(text)[0]

    def keys_and_values(self, text: Sequence[int]) -> list[NDArray[np.float16]]:
        return self._of(text)[1]

    def _of(self, text: Sequence[int]) -> tuple[Rows, list[NDArray[np.float16]]]:
        if tuple(text) not in self._known:
            self._model.rewind(0)
            self._known[tuple(text)] = self._model.extend(text), keys_and_values(self._model)
        return self._known[tuple(text)]


def keys_and_values(model: OpenVinoModel) -> list[NDArray[np.float16]]:
    """[kv heads, tokens, head_dim] of every layer, as the block table finds them."""
    held, table = len(model._sequence.tokens), model._sequence.table
    found = []
    for cache in model._caches:
        blocks = cache[table].swapaxes(0, 1)
        found.append(blocks.reshape(blocks.shape[0], -1, blocks.shape[3])[:, :held].copy())
    return found


def assert_same_bits(found: Sequence[Any], expected: Sequence[Any]) -> None:
    assert len(found) == len(expected) == 4, "keys and values of two layers"
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.view(np.uint16), other.view(np.uint16))


# Rows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rows", [16, 256])
@pytest.mark.parametrize("length", [1, 3, 8, 9, 40])
def test_the_last_rows_are_the_last_rows_of_all(model: OpenVinoModel, fresh: Fresh, length: int, max_rows: int) -> None:
    model.max_rows = max_rows
    everything = fresh.rows(TEXT[:40])
    for last in (None, 0, 1, 2, 7, 8, 9, 33, 40, 99):
        model.rewind(0)
        rows = model.extend(TEXT[:length], last=last)
        count = length if last is None else min(last, length)
        assert rows.dtype == np.float32
        assert rows.shape == (count, VOCABULARY)
        assert np.array_equal(rows, everything[length - count : length])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_is_the_same_bits_wherever_it_stands(load: Loader, precision: Precision) -> None:
    model = load(precision=precision)
    expected = model.extend(TEXT)
    for size in range(1, 33):
        model.rewind(size)
        blocks = [model.extend(TEXT[start : start + size]) for start in range(size, len(TEXT), size)]
        assert np.array_equal(np.concatenate(blocks), expected[size:]), f"blocks of {size}"
    for model.max_rows in (16, 32, 64, 128):
        model.rewind(0)
        assert np.array_equal(model.extend(TEXT), expected), f"chunks of {model.max_rows}"


@pytest.mark.parametrize("precision", PRECISIONS)
def test_blocks_of_one_fixed_size_are_exact_too(load: Loader, precision: Precision) -> None:
    model = load(precision=precision, context_length=64)
    model.min_rows = model.max_rows = 16
    expected = model.extend(TEXT[:64])
    for cut in (1, 5, 15, 16, 17, 47, 63):
        model.rewind(0)
        rows = [model.extend(TEXT[:cut]), model.extend(TEXT[cut:64])]
        assert np.array_equal(np.concatenate(rows), expected)


def test_earlier_rows_do_not_change_when_more_is_evaluated(model: OpenVinoModel) -> None:
    rows = model.extend(TEXT[:10])
    before = rows.copy()
    model.extend(TEXT[10:20])
    model.rewind(0)
    model.extend(TEXT[20:])
    assert np.array_equal(rows, before)


def test_padding_beyond_the_vocabulary_is_never_seen(load: Loader) -> None:
    padded = load(stored_model(1, vocab_size=72), vocabulary=60)
    text = random_text(1, 20, 60)
    assert padded.extend(text).shape == (20, 60)
    with pytest.raises(IndexError, match="token 60 is not in a vocabulary of 60"):
        padded.extend([3, 60])


def test_what_lies_in_the_memory_before_is_never_read(load: Loader, fresh: Fresh) -> None:
    model = load()
    for cache in model._caches:
        cache[...] = np.nan
    rows = [model.extend(TEXT[start : start + 7]) for start in range(0, 70, 7)]
    assert np.array_equal(np.concatenate(rows), fresh.rows(TEXT[:70]))


# Errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [40, 57, 64, 65])
@pytest.mark.parametrize("min_rows", [8, 16])
def test_the_window_ends_where_it_was_said_to_end(load: Loader, fresh: Fresh, window: int, min_rows: int) -> None:
    """Its last tokens are followed by padding rows beyond it, and beyond the tables of the rotary embedding."""
    model = load(context_length=window)
    model.min_rows = min_rows
    model.extend(TEXT[: window - 3])
    with pytest.raises(ValueError, match=f"4 tokens after {window - 3} do not fit a window of {window} tokens"):
        model.extend([1, 2, 3, 4])
    rows = [model.extend(TEXT[window - 3 : window - 1]), model.extend(TEXT[window - 1 : window])]
    with pytest.raises(ValueError, match="do not fit"):
        model.extend([1])
    assert np.array_equal(np.concatenate(rows), fresh.rows(TEXT[:window])[window - 3 :])


def test_a_window_longer_than_the_model_was_made_for_is_cut(load: Loader) -> None:
    assert load(stored_model(1, max_position_embeddings=128), context_length=9999).context_length == 128 - MIN_ROWS


@pytest.mark.parametrize("length", [-1, 4])
def test_rewinding_to_where_it_never_was_is_an_error(model: OpenVinoModel, length: int) -> None:
    model.extend([1, 2, 3])
    with pytest.raises(ValueError, match="3 are held"):
        model.rewind(length)


def test_nothing_cannot_be_evaluated(model: OpenVinoModel) -> None:
    with pytest.raises(ValueError, match="0 tokens"):
        model.extend([])


@pytest.mark.parametrize("token", [-1, VOCABULARY, 10**9])
def test_a_token_that_there_is_not_is_named(model: OpenVinoModel, fresh: Fresh, token: int) -> None:
    model.extend(TEXT[:5])
    with pytest.raises(IndexError, match=f"token {token} is not in a vocabulary of 64"):
        model.extend([1, token])
    assert np.array_equal(model.extend(TEXT[5:10]), fresh.rows(TEXT[:10])[5:])


class Faulty:
    """A request of OpenVINO's whose inference fails after its last layer, at the `countdown`th time."""

    def __init__(self, request: Any, countdown: int) -> None:
        self._request, self._countdown = request, countdown

    def infer(self) -> None:
        self._request.infer()
        self._countdown -= 1
        if self._countdown == 0:
            raise MemoryError("no memory")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


@pytest.mark.parametrize("countdown", [1, 2, 3])
def test_a_fault_inside_the_model_leaves_the_cache_as_it_was(
    model: OpenVinoModel, fresh: Fresh, monkeypatch: pytest.MonkeyPatch, countdown: int
) -> None:
    model.max_rows = 16
    model.extend(TEXT[:10])
    with monkeypatch.context() as patched:
        patched.setattr(model, "_request", Faulty(model._request, countdown))
        with pytest.raises(MemoryError):
            model.extend(TEXT[50:98])
    assert_same_bits(keys_and_values(model), fresh.keys_and_values(TEXT[:10]))
    assert np.array_equal(model.extend(TEXT[10:40]), fresh.rows(TEXT[:40])[10:])
    assert_same_bits(keys_and_values(model), fresh.keys_and_values(TEXT[:40]))


# Keys and values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(MIN_ROWS, 17))
def test_after_any_acceptance_the_cache_equals_a_fresh_prefill(model: OpenVinoModel, fresh: Fresh, size: int) -> None:
    """A block of the last token and a draft, of which so many tokens are right."""
    for start in (20, 30, 64):
        for num_right in range(1, size + 1):
            model.rewind(0)
            model.extend(TEXT[:start], last=0)
            wrong = [(token + 1) % VOCABULARY for token in TEXT[start + num_right : start + size]]
            model.extend([*TEXT[start : start + num_right], *wrong])
            model.rewind(start + num_right)
            assert_same_bits(keys_and_values(model), fresh.keys_and_values(TEXT[: start + num_right]))
        rows = model.extend(TEXT[start + size : start + 40])
        assert np.array_equal(rows, fresh.rows(TEXT[: start + 40])[start + size :])


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


def test_a_document_left_and_come_back_to_is_not_evaluated_again(load: Loader, fresh: Fresh) -> None:
    model = load(context_length=200, kv_bytes=1 << 20)
    first, second = TEXT[:150], random_text(7, 130)
    assert (follow(model, first), follow(model, second)) == (0, 0)
    assert follow(model, first) == 4 * BLOCK
    assert_same_bits(keys_and_values(model), fresh.keys_and_values(first))
    assert follow(model, second) == 4 * BLOCK
    assert_same_bits(keys_and_values(model), fresh.keys_and_values(second))


def test_writing_into_a_shared_block_leaves_the_other_document_alone(load: Loader, fresh: Fresh) -> None:
    model = load(kv_bytes=1 << 20)
    first = TEXT[:100]
    follow(model, first)
    follow(model, random_text(7, 40))
    follow(model, first)
    for cut in (70, 40, 64, 1):
        changed = [*first[:cut], *random_text(cut, 25)]
        assert model.recall(changed) == cut
        assert np.array_equal(model.extend(changed[cut:]), fresh.rows(changed)[cut:])
        assert_same_bits(keys_and_values(model), fresh.keys_and_values(changed))
        assert follow(model, first) == 3 * BLOCK
        assert_same_bits(keys_and_values(model), fresh.keys_and_values(first))


def test_more_memory_holds_more_documents(load: Loader) -> None:
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
def test_whatever_is_followed_in_little_memory_it_is_as_if_it_were_new(load: Loader, fresh: Fresh, seed: int) -> None:
    chance = np.random.default_rng(seed)
    beginning = random_text(90, 70)
    documents = [beginning[: 10 * number] + random_text(number, 110 - 10 * number) for number in range(6)]
    model = load(context_length=110)  # room for one and a bit
    num_known = 0
    for _ in range(40):
        document = documents[chance.integers(len(documents))]
        end = int(chance.integers(2, len(document)))
        num_known += follow(model, document[:end])
        assert_same_bits(keys_and_values(model), fresh.keys_and_values(document[:end]))
        size = int(chance.integers(1, 1 + min(16, len(document) - end)))
        rows = model.extend(document[end : end + size])
        assert np.array_equal(rows, fresh.rows(document[: end + size])[end:])
        model.rewind(int(chance.integers(0, end + size + 1)))
    assert num_known > 500


def test_a_prefix_cache_resumes_what_the_model_holds(load: Loader, fresh: Fresh) -> None:
    cache = PrefixCache(load(kv_bytes=1 << 20))
    first, second = TEXT[:100], random_text(7, 50)
    for document, known in ((first, 0), (second, 0), (first, 96), (first[:90] + second[:9], 90), (second, 32)):
        assert cache.resume(document) == known
        cache.extend(document[known:], last=0)
        assert list(cache.tokens) == document
        assert_same_bits(keys_and_values(cache.model), fresh.keys_and_values(document))  # type: ignore[arg-type]


# The whole ----------------------------------------------------------------------------------------------------------


def test_a_model_of_another_kind_is_refused_by_name(load: Loader) -> None:
    with pytest.raises(UnsupportedModelError, match="Starcoder2ForCausalLM"):
        load(stored_model(1, kind="Starcoder2"))
    with pytest.raises(UnsupportedModelError, match="slides over 8 tokens"):
        load(stored_model(1, kind="Mistral", sliding_window=8))


_FRESH_INTERPRETER = """
import sys
from pathlib import Path
from decoder.openvino_model import OpenVinoModel
from drafting.interface import Vocabulary
model = OpenVinoModel.load(
    Path(sys.argv[1]), name="tiny", vocabulary=Vocabulary(64, "tiny"), context_length=64, precision="int8",
    cache=Path(sys.argv[2]), threads=1,
)
assert model.extend([1, 2, 3]).shape == (3, 64)
print(sorted({"torch", "transformers"} & set(sys.modules)))
"""


def test_neither_torch_nor_transformers_is_imported(cache: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", _FRESH_INTERPRETER, str(stored_model(1)), str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"
    assert done.stderr == ""


class Idle(Faulty):
    """A request that costs nothing: what remains is our own."""

    def __init__(self, request: Any) -> None:
        super().__init__(request, 0)

    def infer(self) -> None:
        pass


def test_rewinding_and_preparing_one_token_costs_less_than_a_millisecond(load: Loader) -> None:
    model = load(context_length=4000)
    model.extend(random_text(0, 3900), last=0)
    model._request = Idle(model._request)
    taken = []
    for _ in range(200):
        started = time.perf_counter()
        model.rewind(3899)
        model.extend([1])
        taken.append(time.perf_counter() - started)
    assert statistics.median(taken) < 0.001


# The starter --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=PRECISIONS)
def starter(request: pytest.FixtureRequest, starter_folder: Path, cache: Path) -> Iterator[OpenVinoModel]:
    yield OpenVinoModel.load(
        starter_folder,
        name="starter",
        vocabulary=Vocabulary(49_152, "starter"),
        context_length=200,
        precision=request.param,
        cache=cache,
        threads=2,
    )
    gc.collect()  # one of them at a time


@pytest.mark.starter
def test_the_starters_rows_are_the_same_bits_wherever_they_stand(starter: OpenVinoModel) -> None:
    text = random_text(3, 132, 49_152)
    starter.max_rows = 64  # beyond it processors with AVX2 alone add in another order
    starter.extend(text[:100], last=0)
    expected = starter.extend(text[100:])
    for size in (3, 8, 31):
        starter.rewind(100)
        blocks = [starter.extend(text[start : start + size]) for start in range(100, 132, size)]
        assert np.array_equal(np.concatenate(blocks), expected), f"blocks of {size}"
    for last in (1, 3):  # few rows of the head, which is a product of its own
        starter.rewind(100)
        assert np.array_equal(starter.extend(text[100:], last=last), expected[-last:])
    starter.max_rows = 24
    starter.rewind(0)
    starter.extend(text[:100], last=0)
    assert np.array_equal(starter.extend(text[100:]), expected)
