"""What `extend` and `rewind` promise on OpenVINO, to the last bit, on tiny random models and on the starter."""

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from decoder.engine import EngineError
from decoder.openvino_engine.shape import UnsupportedModelError
from decoder.openvino_model import OpenVinoModel, Precision
from drafting.interface import Vocabulary
from tests.decoder.tiny_openvino import TEXT, VOCABULARY, assert_as_fresh, fresh_rows, load, random_text
from tests.engines import stored_model

PRECISIONS = get_args(Precision)


# Rows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rows", [16, 256])
@pytest.mark.parametrize("length", [1, 3, 8, 9, 40])
def test_the_last_rows_are_the_last_rows_of_all(model: OpenVinoModel, length: int, max_rows: int) -> None:
    model.max_rows = max_rows
    everything = fresh_rows(TEXT[:40])
    for last in (None, 0, 1, 2, 7, 8, 9, 33, 40, 99):
        model.rewind(0)
        rows = model.extend(TEXT[:length], last=last)
        count = length if last is None else min(last, length)
        assert rows.dtype == np.float32
        assert rows.shape == (count, VOCABULARY)
        assert np.array_equal(rows, everything[length - count : length])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_is_the_same_bits_wherever_it_stands(precision: Precision) -> None:
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
def test_blocks_of_one_fixed_size_are_exact_too(precision: Precision) -> None:
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


def test_padding_beyond_the_vocabulary_is_never_seen() -> None:
    padded = load(stored_model(1, vocab_size=72), vocabulary=60)
    text = random_text(1, 20, 60)
    assert padded.extend(text).shape == (20, 60)
    with pytest.raises(IndexError, match="token 60 is not in a vocabulary of 60"):
        padded.extend([3, 60])


def test_what_lies_in_the_memory_before_is_never_read() -> None:
    model = load()
    for cache in model._caches:
        cache[...] = np.nan
    rows = [model.extend(TEXT[start : start + 7]) for start in range(0, 70, 7)]
    assert np.array_equal(np.concatenate(rows), fresh_rows(TEXT[:70]))


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [40, 57, 64, 65])
@pytest.mark.parametrize("min_rows", [8, 16])
def test_the_window_ends_where_it_was_said_to_end(window: int, min_rows: int) -> None:
    """Its last tokens are followed by padding rows beyond it, and beyond the tables of the rotary embedding."""
    model = load(context_length=window)
    model.min_rows = min_rows
    model.extend(TEXT[: window - 3])
    with pytest.raises(ValueError, match=f"4 tokens after {window - 3} do not fit a window of {window} tokens"):
        model.extend([1, 2, 3, 4])
    rows = [model.extend(TEXT[window - 3 : window - 1]), model.extend(TEXT[window - 1 : window])]
    with pytest.raises(ValueError, match="do not fit"):
        model.extend([1])
    assert np.array_equal(np.concatenate(rows), fresh_rows(TEXT[:window])[window - 3 :])


def test_a_window_longer_than_the_model_was_made_for_is_cut() -> None:
    assert load(stored_model(1, max_position_embeddings=128), context_length=9999).context_length == 128


@pytest.mark.parametrize("length", [-1, 4])
def test_rewinding_to_where_it_never_was_is_an_error(model: OpenVinoModel, length: int) -> None:
    model.extend([1, 2, 3])
    with pytest.raises(ValueError, match="3 are held"):
        model.rewind(length)


def test_nothing_cannot_be_evaluated(model: OpenVinoModel) -> None:
    with pytest.raises(ValueError, match="0 tokens"):
        model.extend([])


@pytest.mark.parametrize("token", [-1, VOCABULARY, 10**9])
def test_a_token_that_there_is_not_is_named(model: OpenVinoModel, token: int) -> None:
    model.extend(TEXT[:5])
    with pytest.raises(IndexError, match=f"token {token} is not in a vocabulary of 64"):
        model.extend([1, token])
    assert np.array_equal(model.extend(TEXT[5:10]), fresh_rows(TEXT[:10])[5:])


class Faulty:
    """A request of OpenVINO's whose inference fails after its last layer, at the `countdown`th time."""

    def __init__(self, request: Any, countdown: int, error: Exception) -> None:
        self._request, self._countdown, self._error = request, countdown, error

    def infer(self) -> None:
        self._request.infer()
        self._countdown -= 1
        if self._countdown == 0:
            raise self._error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


@pytest.mark.parametrize("countdown", [1, 2, 3])
def test_a_fault_inside_the_model_leaves_the_cache_as_it_was(
    model: OpenVinoModel, monkeypatch: pytest.MonkeyPatch, countdown: int
) -> None:
    model.max_rows = 16
    model.extend(TEXT[:10])
    with monkeypatch.context() as patched:
        patched.setattr(model, "_request", Faulty(model._request, countdown, MemoryError("no memory")))
        with pytest.raises(MemoryError):
            model.extend(TEXT[50:98])
    assert_as_fresh(model, TEXT[:10])
    assert np.array_equal(model.extend(TEXT[10:40]), fresh_rows(TEXT[:40])[10:])
    assert_as_fresh(model, TEXT[:40])


_NO_NODE = """Exception from src/inference/src/cpp/infer_request.cpp:224:
Exception from src/plugins/intel_cpu/src/node.cpp:7:
[CPU] no such node

"""


def test_what_openvino_says_of_a_fault_is_told_in_one_line(
    model: OpenVinoModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the answer's reason was the repr of all of it
    model.extend(TEXT[:10])
    with monkeypatch.context() as patched:
        patched.setattr(model, "_request", Faulty(model._request, 1, RuntimeError(_NO_NODE)))
        with pytest.raises(EngineError, match=r"a forward pass of tiny \(\[CPU\] no such node\): if it"):
            model.extend(TEXT[10:20])
    assert_as_fresh(model, TEXT[:10])


# The whole -----------------------------------------------------------------------------------------------------------


def test_a_model_of_another_kind_is_refused_by_name() -> None:
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
print(sorted({"torch", "transformers", "openvino_telemetry"} & set(sys.modules)))
"""


def test_neither_torch_nor_transformers_is_imported_and_nothing_reports_to_anybody(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", _FRESH_INTERPRETER, str(stored_model(1)), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"
    assert done.stderr == ""


class Idle(Faulty):
    """A request that costs nothing: what remains is our own."""

    def __init__(self, request: Any) -> None:
        super().__init__(request, 0, MemoryError())

    def infer(self) -> None:
        pass


def test_rewinding_and_preparing_one_token_costs_less_than_a_millisecond() -> None:
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


# The starter ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=PRECISIONS)
def starter(
    request: pytest.FixtureRequest, starter_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenVinoModel]:
    yield OpenVinoModel.load(
        starter_folder,
        name="starter",
        vocabulary=Vocabulary(49_152, "starter"),
        context_length=200,
        precision=request.param,
        cache=tmp_path_factory.mktemp("prepared"),
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
