"""What is read from config.json: as transformers understands it, or refused by name."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from decoder.openvino_engine.shape import ARCHITECTURES, LlamaShape, UnsupportedModelError

LLAMA3_8B: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 8192,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "rope_scaling": None,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "vocab_size": 128256,
}
LLAMA3_SCALING = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def test_llama_3_is_read_as_its_file_says() -> None:
    shape = LlamaShape.of(LLAMA3_8B)
    assert shape.num_layers == 32
    assert (shape.num_heads, shape.num_kv_heads, shape.head_dim) == (32, 8, 128)
    assert (shape.norm_epsilon, shape.max_positions, shape.tied) == (1e-05, 8192, False)
    assert len(shape.inverse_frequencies) == 64


@pytest.mark.parametrize("null", [False, True])
def test_what_older_files_leave_out_has_the_value_that_it_had_then(null: bool) -> None:
    absent = ("num_key_value_heads", "head_dim", "rope_scaling", "rope_theta", "tie_word_embeddings", "attention_bias")
    config = {key: value for key, value in LLAMA3_8B.items() if key not in absent}
    shape = LlamaShape.of({**config, **dict.fromkeys(absent)} if null else config)
    assert (shape.num_kv_heads, shape.head_dim, shape.tied) == (32, 128, False)
    assert shape.inverse_frequencies[1] == pytest.approx(10_000 ** (-1 / 64))


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "default", "rope_theta": 10_000.0},
        {"rope_type": "default", "rope_theta": 500_000.0},
        {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0},
        {**LLAMA3_SCALING, "rope_theta": 500_000.0},
        {**LLAMA3_SCALING, "rope_theta": 500_000.0, "factor": 32.0},
    ],
)
def test_rotary_frequencies_are_those_of_transformers(rope: dict[str, Any]) -> None:
    import transformers
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = transformers.LlamaConfig(
        hidden_size=512, num_attention_heads=4, rope_parameters=rope, max_position_embeddings=131_072
    )
    theirs = LlamaRotaryEmbedding(config).inv_freq.numpy()
    new_style = {**config.to_dict(), "architectures": ["LlamaForCausalLM"]}
    old_style = {key: value for key, value in new_style.items() if key != "rope_parameters"}
    old_style |= {"rope_theta": rope["rope_theta"], "rope_scaling": rope if rope["rope_type"] != "default" else None}
    for form in (new_style, old_style):
        assert LlamaShape.of(form).inverse_frequencies == pytest.approx(theirs, rel=1e-6)


def test_the_oldest_name_of_a_scaling_is_known() -> None:
    scaled = LlamaShape.of(LLAMA3_8B | {"rope_scaling": {"type": "linear", "factor": 2.0}})
    plain = LlamaShape.of(LLAMA3_8B)
    assert np.array(scaled.inverse_frequencies) * 2 == pytest.approx(plain.inverse_frequencies)


def test_rotary_tables_turn_by_position_times_frequency() -> None:
    shape = LlamaShape.of(LLAMA3_8B)
    cosines, sines = shape.rotary_tables(5000)
    assert cosines.shape == sines.shape == (5000, 1, 1, 128)
    turned = np.exp(1j * 4321 * np.array(shape.inverse_frequencies))
    assert np.allclose((cosines + 1j * sines)[4321, 0, 0], np.tile(turned, 2), atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"architectures": ["Starcoder2ForCausalLM"]}, "Starcoder2ForCausalLM, known are LlamaForCausalLM"),
        ({"architectures": ["Qwen3ForCausalLM"]}, "Qwen3ForCausalLM"),
        ({"architectures": None}, "architecture is nothing"),
        ({"hidden_act": "gelu"}, "activation is gelu"),
        ({"mlp_bias": True}, "feed-forward halves have biases"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "quantised in a format of another engine"),
        ({"sliding_window": 4096}, "slides over 4096 tokens"),
        ({"sliding_window": 4096, "use_sliding_window": True}, "slides over 4096 tokens"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "scaled by 'yarn', known are linear and llama3"),
        ({"rope_parameters": {"rope_type": "dynamic", "factor": 4.0}}, "scaled by 'dynamic'"),
    ],
)
def test_what_is_not_known_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UnsupportedModelError, match=named):
        LlamaShape.of(LLAMA3_8B | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"architectures": ["MistralForCausalLM"], "sliding_window": None},
        {"architectures": ["MistralForCausalLM"], "sliding_window": 8192},
        {"architectures": ["Qwen2ForCausalLM"], "sliding_window": 4096, "use_sliding_window": False},
        {"quantization_config": None},
        {"attention_bias": True},
    ],
)
def test_what_makes_no_difference_is_not_refused(changes: dict[str, Any]) -> None:
    assert LlamaShape.of(LLAMA3_8B | changes) == LlamaShape.of(LLAMA3_8B)


def test_the_known_architectures_are_those_of_the_catalog_that_differ_in_nothing_else() -> None:
    assert set(ARCHITECTURES) == {"LlamaForCausalLM", "Qwen2ForCausalLM", "MistralForCausalLM"}


def test_a_file_that_is_absent_damaged_or_not_whole_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match=r"config\.json cannot be read"):
        LlamaShape.read(tmp_path)
    file = tmp_path / "config.json"
    file.write_text("{", encoding="utf-8")
    with pytest.raises(UnsupportedModelError, match=r"config\.json cannot be read"):
        LlamaShape.read(tmp_path)
    file.write_text(json.dumps({**LLAMA3_8B, "rope_scaling": {"rope_type": "linear"}}), encoding="utf-8")
    with pytest.raises(UnsupportedModelError, match=r"config\.json lacks 'factor'"):
        LlamaShape.read(tmp_path)
    file.write_text(json.dumps(LLAMA3_8B), encoding="utf-8")
    assert LlamaShape.read(tmp_path) == LlamaShape.of(LLAMA3_8B)
