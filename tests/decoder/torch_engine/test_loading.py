import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from decoder.torch_engine.memory import DeviceMemoryError
from decoder.torch_model import ModelLoadError, TorchModel
from drafting.interface import Vocabulary
from tests.decoder.torch_engine.tiny import TEXT, free, network

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    network().save_pretrained(tmp_path)
    return tmp_path


def load(folder: Path, **settings: Any) -> TorchModel:
    defaults: dict[str, Any] = {"context_length": 64, "dtype": "float32", "device": "cpu"}
    return TorchModel.load(folder, name="tiny", vocabulary=Vocabulary(64, "tiny"), **defaults | settings)


@pytest.mark.parametrize("fixed_shapes", [False, True])
def test_a_loaded_model_has_its_cache_already(folder: Path, fixed_shapes: bool) -> None:
    """Where there is no room for it, that is known before the first request."""
    model = load(folder, fixed_shapes=fixed_shapes)
    assert model._forward.held.num_bytes > 0
    assert np.allclose(model.extend(TEXT[:60]), free(network()).extend(TEXT[:60]), atol=1e-4)


@pytest.mark.parametrize(
    ("stored", "library", "needed"),
    [
        ({"quant_method": "gptq", "bits": 4}, "gptqmodel", "GPTQ quantized model requires"),
        ({"quant_method": "awq", "bits": 4}, "gptqmodel", "AWQ quantized model requires"),
        ({"load_in_8bit": True}, "bitsandbytes", "requires (accelerate|bitsandbytes)"),
        ({"quant_method": "compressed-tensors"}, "compressed_tensors", "install compressed-tensors"),
    ],
)
def test_a_quantised_folder_whose_library_is_missing_says_which(
    folder: Path, stored: dict[str, Any], library: str, needed: str
) -> None:
    if find_spec(library):
        pytest.skip(f"{library} is installed")
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"quantization_config": stored}), encoding="utf-8")
    with pytest.raises(ModelLoadError, match=rf"^cannot load tiny from [^\n]+{needed}[^\n]*$"):
        load(folder)


def test_layers_that_cannot_forget_are_refused(tmp_path: Path) -> None:
    network(kind="Qwen2", layer_types=["full_attention", "chunked_attention"]).save_pretrained(tmp_path)
    with pytest.raises(ModelLoadError, match="qwen2 has layers of kind chunked_attention, which cannot forget"):
        load(tmp_path)


@pytest.mark.skipif(find_spec("accelerate") is not None, reason="accelerate is installed")
@pytest.mark.parametrize("device", ["spread", "cpu=1,cpu=1"])
def test_several_devices_without_accelerate_say_what_to_install(folder: Path, device: str) -> None:
    with pytest.raises(ModelLoadError, match=r"need accelerate: pip install 'draftline\[gpu\]'"):
        load(folder, device=device)


@pytest.mark.skipif(find_spec("accelerate") is None, reason="needs accelerate (pip install 'draftline[gpu]')")
def test_layers_are_shared_out(folder: Path) -> None:
    rows = load(folder, device="cpu=1,cpu=1").extend(TEXT[:60])
    assert np.array_equal(rows, load(folder).extend(TEXT[:60]))


@pytest.mark.skipif(find_spec("torchao") is None, reason="needs torchao (pip install 'draftline[gpu]')")
def test_weights_in_int8_say_nearly_the_same(folder: Path) -> None:
    rows = load(folder, dtype="bfloat16", quantisation="int8").extend(TEXT[:60])
    expected = load(folder, dtype="bfloat16").extend(TEXT[:60])
    assert np.corrcoef(rows.ravel(), expected.ravel())[0, 1] > 0.95


def test_weights_without_room_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1 GiB free.")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(DeviceMemoryError, match="cpu has no memory left for the weights of tiny") as caught:
        load(folder)
    assert "Tried to allocate 2.00 GiB" in str(caught.value)
