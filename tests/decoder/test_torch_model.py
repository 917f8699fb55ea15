from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from decoder.torch_engine.memory import DeviceMemoryError
from decoder.torch_model import ModelLoadError, TorchModel
from drafting.interface import Vocabulary
from drafting.small_model import Receiving
from tests.fakes import tiny_llama, tiny_transformer

pytestmark = pytest.mark.usefixtures("one_thread")
TEXT = [int(token) for token in np.random.default_rng(0).integers(0, 64, 40)]
FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("Llama", {}),
    ("Starcoder2", {"sliding_window": 8}),
    ("Mistral", {"sliding_window": 8}),
]


def keys_and_values(model: TorchModel, length: int) -> list[Any]:
    layers = model._forward.held.layers
    return [(layer.keys[:, :, :length].clone(), layer.values[:, :, :length].clone()) for layer in layers]


def assert_same_cache(left: TorchModel, right: TorchModel, length: int) -> None:
    assert len(left._forward.held.layers) == 2
    for mine, theirs in zip(keys_and_values(left, length), keys_and_values(right, length), strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert one.shape[2] == length
            assert np.allclose(one.numpy(), other.numpy(), atol=1e-5)


@pytest.mark.parametrize(("kind", "changes"), FAMILIES)
@pytest.mark.trap(11)
def test_after_any_rejection_the_cache_equals_a_fresh_prefill(kind: str, changes: dict[str, Any]) -> None:
    gamma = 5
    model, fresh = (tiny_llama(1, kind=kind, **changes) for _ in range(2))
    for num_accepted in range(gamma + 1):
        wrong = [(token + 1) % 64 for token in TEXT[20 + num_accepted : 20 + gamma]]
        model.rewind(0)
        model.extend(TEXT[:20])
        model.extend([*TEXT[20 : 20 + num_accepted], *wrong])
        model.rewind(20 + num_accepted)
        after = model.extend(TEXT[20 + num_accepted : 30])
        fresh.rewind(0)
        expected = fresh.extend(TEXT[:30])
        assert_same_cache(model, fresh, 30)
        assert np.allclose(after, expected[20 + num_accepted :], atol=1e-4)


def test_rewinding_moves_and_frees_nothing() -> None:
    model = tiny_llama(1)
    model.extend(TEXT)
    layers = model._forward.held.layers
    places = [(layer.keys.data_ptr(), layer.values.data_ptr()) for layer in layers]
    for length in (30, 29, 5, 0):
        model.rewind(length)
        model.extend(TEXT[length : length + 3])
        assert [(layer.keys.data_ptr(), layer.values.data_ptr()) for layer in layers] == places
        model.rewind(length)


@pytest.mark.parametrize(("kind", "changes"), FAMILIES)
def test_a_block_gives_the_rows_that_single_tokens_give(kind: str, changes: dict[str, Any]) -> None:
    model = tiny_llama(1, kind=kind, **changes)
    together = model.extend(TEXT)
    assert together.dtype == np.float32
    assert together.shape == (40, 64)
    model.rewind(0)
    single = np.concatenate([model.extend([token]) for token in TEXT])
    assert np.allclose(together, single, atol=1e-4)


@pytest.mark.parametrize("last", [0, 1, 2, 7, 40])
def test_the_last_rows_are_the_last_rows_of_all(last: int) -> None:
    model = tiny_llama(1)
    everything = model.extend(TEXT)
    model.rewind(0)
    rows = model.extend(TEXT, last=last)
    assert rows.shape == (last, 64)
    assert np.allclose(rows, everything[40 - last :], atol=1e-5)


def test_earlier_rows_do_not_change_when_more_is_evaluated() -> None:
    model = tiny_llama(1)
    rows = model.extend(TEXT[:10])
    before = rows.copy()
    model.extend(TEXT[10:20])
    model.rewind(0)
    model.extend(TEXT[20:])
    assert np.array_equal(rows, before)


@pytest.mark.trap(19)
def test_padding_beyond_the_vocabulary_is_never_seen() -> None:
    model = tiny_llama(1, vocabulary=60, vocab_size=64)
    assert model.extend(TEXT[:1]).shape == (1, 60)


def test_the_window_ends_where_it_was_said_to_end() -> None:
    model = tiny_llama(1, context_length=16)
    model.extend(TEXT[:15])
    with pytest.raises(ValueError, match="2 tokens after 15 do not fit a window of 16 tokens"):
        model.extend([1, 2])
    assert model.extend([1]).shape == (1, 64)
    with pytest.raises(ValueError, match="do not fit"):
        model.extend([1])


def test_a_window_longer_than_the_model_was_made_for_is_cut() -> None:
    assert tiny_llama(1, context_length=9999, max_position_embeddings=128).context_length == 128


@pytest.mark.parametrize("length", [-1, 4])
def test_rewinding_to_where_it_never_was_is_an_error(length: int) -> None:
    model = tiny_llama(1)
    model.extend([1, 2, 3])
    with pytest.raises(ValueError, match="3 are held"):
        model.rewind(length)


def test_nothing_cannot_be_evaluated() -> None:
    with pytest.raises(ValueError, match="0 tokens"):
        tiny_llama(1).extend([])


def test_a_fault_inside_the_model_leaves_the_cache_as_it_was() -> None:
    model, fresh = tiny_llama(1), tiny_llama(1)

    def fail(*_: Any) -> None:
        raise MemoryError("no memory")

    model.extend(TEXT[:10])
    hook = model._forward.model.model.layers[1].register_forward_hook(fail)  # the first layer has its keys already
    with pytest.raises(DeviceMemoryError, match="cpu has no memory left for 5 tokens of Llama-1"):
        model.extend(TEXT[20:25])
    hook.remove()
    with pytest.raises(IndexError, match="not in a vocabulary of 64"):
        model.extend([1, 64])
    assert np.allclose(model.extend(TEXT[10:20]), fresh.extend(TEXT[:20], last=10), atol=1e-5)
    assert_same_cache(model, fresh, 20)


def load(folder: Path, **changes: Any) -> TorchModel:
    settings: dict[str, Any] = {"context_length": 64, "dtype": "float32", "device": "cpu"}
    return TorchModel.load(folder, name="tiny", vocabulary=Vocabulary(64, "tiny"), **settings | changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_llama(1)._forward.model.save_pretrained(tmp_path)
    return tmp_path


def test_a_saved_model_is_loaded_as_it_was(folder: Path) -> None:
    assert np.allclose(load(folder).extend(TEXT), tiny_llama(1).extend(TEXT), atol=1e-5)


def test_a_drafted_row_goes_where_the_logits_are() -> None:
    model, row = tiny_llama(1), np.zeros(64, dtype=np.float32)
    model.extend(TEXT[:3])
    assert isinstance(model, Receiving)
    assert model.receive(row) is row, "on a CPU"
    network = tiny_transformer(1).to("meta")
    nowhere = TorchModel(network, name="nowhere", vocabulary=Vocabulary(64, "tiny"), context_length=64)
    assert nowhere.extend(TEXT[:3]).device.type == "meta"
    assert nowhere.receive(torch.zeros(64)).device.type == "meta"


def test_half_precision_still_gives_single_precision_logits(folder: Path) -> None:
    rows = load(folder, dtype="bfloat16").extend(TEXT)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()


def test_what_cannot_be_loaded_is_named_in_one_line(folder: Path) -> None:
    (empty := folder / "empty").mkdir()
    with pytest.raises(ModelLoadError, match=r"^cannot load tiny from .*empty on cpu: [^\n]+$"):
        load(empty)
    with pytest.raises(ModelLoadError, match=r"^cannot load tiny from .* on gpu: [^\n]+$"):
        load(folder, device="gpu")


def test_damaged_weights_are_named_in_one_line(folder: Path) -> None:
    # safetensors has an exception of its own
    weights = folder / "model.safetensors"
    weights.write_bytes(b"\xff" * 100)
    with pytest.raises(ModelLoadError, match=r"^cannot load tiny from [^\n]+$"):
        load(folder)


def test_missing_weights_are_an_error_not_noise(folder: Path) -> None:
    # transformers fills them with random numbers, and says so where nobody reads it
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelLoadError, match=r"layers\.1\.mlp\.up_proj\.weight"):
        load(folder)
