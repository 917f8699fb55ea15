"""The graph computes what transformers computes, with weights and keys rounded as they are stored."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from decoder.openvino_engine.compress import Compression, compressed
from decoder.openvino_engine.quantisation import GROUP
from decoder.openvino_engine.shape import UnsupportedModelError
from decoder.openvino_engine.weights import INDEX, SafeTensors
from decoder.openvino_model import OpenVinoModel, Precision
from drafting.interface import Vocabulary
from tests.engines import stored_model

pytestmark = pytest.mark.usefixtures("one_thread")
Rows = NDArray[np.float32]
VOCABULARY = 64
TEXT = [int(token) for token in np.random.default_rng(0).integers(0, VOCABULARY, 100)]
# A random model turns the rounding of a key into more of it; processors with bfloat16 compute in it.
ERROR = 0.3 if "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else 1e-3

LLAMA3_SCALING = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
MODELS: dict[str, dict[str, Any]] = {
    "Llama": {},
    "tied head": {"tie_word_embeddings": True},
    "Qwen2": {"kind": "Qwen2"},
    "Mistral": {"kind": "Mistral", "sliding_window": None},
    "all biases": {"attention_bias": True},
    "one key head": {"num_key_value_heads": 1},
    "as many key heads": {"num_key_value_heads": 4},
    "wide heads": {"head_dim": 64},
    "odd heads": {"head_dim": 20},
    "theta": {"rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}},
    "linear": {"rope_parameters": {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}},
    "llama3": {"rope_parameters": LLAMA3_SCALING},
    "stored in float16": {"dtype": "float16"},
    "stored in bfloat16": {"dtype": "bfloat16"},
    "biases in bfloat16": {"kind": "Qwen2", "dtype": "bfloat16"},
}


def stored(**config: Any) -> Path:
    return stored_model(1, **{"initializer_range": 0.2, **config})


def load(folder: Path, cache: Path, *, precision: Precision = "float16", vocabulary: int = VOCABULARY) -> OpenVinoModel:
    return OpenVinoModel.load(
        folder,
        name="tiny",
        vocabulary=Vocabulary(vocabulary, "tiny"),
        context_length=256,
        precision=precision,
        cache=cache,
        threads=1,
    )


def reference(folder: Path, text: Sequence[int], rounded: Callable[[str, Any], Any]) -> Rows:
    """Logits of transformers in float32; `rounded` is asked for every matrix, keys and values are float16."""
    import torch
    import transformers
    from transformers.masking_utils import eager_mask
    from transformers.models.llama.modeling_llama import eager_attention_forward

    def attention(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        key, value = key.half().float(), value.half().float()
        return eager_attention_forward(module, query, key, value, mask, **options)

    transformers.AttentionInterface.register("half_keys", attention)
    transformers.AttentionMaskInterface.register("half_keys", eager_mask)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="half_keys"
    )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.copy_(rounded(name, weight))
        logits: Rows = model(torch.tensor([text])).logits[0].numpy()
    return logits


def in_float16(_name: str, weight: Any) -> Any:
    return weight.half().float()


def widened(file: SafeTensors) -> Callable[[str, Any], Any]:
    """What compressed weights stand for, in the plainest words."""
    import torch

    def widen(name: str, weight: Any) -> Any:
        values, scale = file.tensor(name).values, file.tensor(f"{name}.scale").as_float32()
        if f"{name}.zero" not in file:
            return torch.tensor(values.astype(np.float32) * scale)
        zero = file.tensor(f"{name}.zero").as_float32()
        levels = np.stack([values & 15, values >> 4], axis=-1).reshape(*scale.shape, GROUP)
        return torch.tensor((levels - zero[:, :, None]) * scale[:, :, None]).reshape(weight.shape)

    return widen


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    folder = stored(**MODELS[name])
    expected = reference(folder, TEXT, in_float16)
    assert expected.std() > 1
    rows = load(folder, tmp_path).extend(TEXT)
    assert rows.dtype == np.float32
    assert np.abs(rows - expected).max() < ERROR


@pytest.mark.parametrize("name", ["Llama", "tied head", "Qwen2", "all biases", "biases in bfloat16"])
@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_compressed_weights_mean_what_they_say(name: str, precision: Compression, tmp_path: Path) -> None:
    folder = stored(**MODELS[name])
    rows = load(folder, tmp_path, precision=precision).extend(TEXT)
    expected = reference(folder, TEXT, widened(SafeTensors(compressed(folder, precision, tmp_path))))
    assert np.abs(rows - expected).max() < ERROR


def relative_error(rows: Rows, expected: Rows) -> float:
    return float((rows - expected).std() / expected.std())


@pytest.mark.parametrize(("precision", "most"), [("int8", 0.05), ("int4", 0.4)])
def test_compression_costs_little(precision: Compression, most: float, tmp_path: Path) -> None:
    folder = stored()
    rows = load(folder, tmp_path, precision=precision).extend(TEXT)
    assert relative_error(rows, reference(folder, TEXT, in_float16)) < most


def test_weights_of_16_levels_cost_nothing_in_4_bits(tmp_path: Path) -> None:
    """As they come from a Q4_1 file. Zero points that had to be whole would move every weight by up to half a step."""
    folder = tmp_path / "model"
    folder.mkdir()
    source = stored(dtype="float16", intermediate_size=64, tie_word_embeddings=True)
    (folder / "config.json").write_bytes((source / "config.json").read_bytes())
    random = np.random.default_rng(0)
    weights = load_file(source / "model.safetensors")
    for name, values in weights.items():
        if values.ndim == 2:
            level = random.integers(0, 16, (len(values), values.shape[1] // GROUP, GROUP))
            level[:, :, 0], level[:, :, 1] = 0, 15
            step = random.uniform(0.03, 0.06, (*level.shape[:2], 1)).astype(np.float16)
            lowest = (-step * random.uniform(6, 9, step.shape)).astype(np.float16)
            weights[name] = (level * step + lowest).astype(np.float16).reshape(values.shape)
    weights["model.embed_tokens.weight"] = np.sign(weights["model.embed_tokens.weight"])  # exact in 8 bits
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    rows = load(folder, tmp_path / "cache", precision="int4").extend(TEXT)
    assert relative_error(rows, reference(folder, TEXT, in_float16)) < max(0.005, ERROR / 10)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_the_layout_of_llama_3(precision: Precision, tmp_path: Path) -> None:
    """128,256 tokens, four query heads to a key head, theta 500,000, a head of its own, two tokens that end a text."""
    folder = stored(
        vocab_size=128_256,
        hidden_size=64,
        num_attention_heads=8,
        num_key_value_heads=2,
        eos_token_id=[128_001, 128_009],
        rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
    )
    text = [128_000, 17, 128_255, 128_009, 5, 100_000, 128_001, 99]
    rounded: Callable[[str, Any], Any] = in_float16
    if precision == "int8":
        rounded = widened(SafeTensors(compressed(folder, precision, tmp_path)))
    rows = load(folder, tmp_path, precision=precision, vocabulary=128_256).extend(text)
    assert rows.shape == (8, 128_256)
    assert np.abs(rows - reference(folder, text, rounded)).max() < ERROR


@pytest.mark.parametrize("precision", ["float16", "int4"])
def test_a_model_in_several_files_is_the_same_model(precision: Precision, tmp_path: Path) -> None:
    folder = stored()
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    weight_map = {}
    for number, (name, values) in enumerate(load_file(folder / "model.safetensors").items()):
        weight_map[name] = f"model-{number:05}.safetensors"
        save_file({name: values}, tmp_path / weight_map[name])
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    one, several = (load(each, tmp_path / "cache", precision=precision) for each in (folder, tmp_path))
    assert np.array_equal(one.extend(TEXT), several.extend(TEXT))


@pytest.mark.parametrize("precision", ["float16", "int8", "int4"])
@pytest.mark.parametrize("missing", ["model.layers.1.mlp.up_proj.weight", "model.norm.weight", "lm_head.weight"])
def test_missing_weights_are_named(precision: Precision, missing: str, tmp_path: Path) -> None:
    folder = stored()
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    weights = load_file(folder / "model.safetensors")
    del weights[missing]
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(UnsupportedModelError, match=f"the weight {missing} is missing; pull the model again"):
        load(tmp_path, tmp_path / "cache", precision=precision)
