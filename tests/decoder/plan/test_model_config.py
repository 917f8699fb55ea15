"""A model's shape as its config.json tells it."""

import json
from pathlib import Path
from typing import Any

import pytest

from decoder.plan.errors import PlanError
from decoder.plan.known_shapes import KNOWN_SHAPES
from decoder.plan.model_config import shape_in

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}


def folder(tmp_path: Path, config: dict[str, Any]) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


def test_a_config_tells_the_shape(tmp_path: Path) -> None:
    assert shape_in(folder(tmp_path, LLAMA_8B), "llama3-8b") == KNOWN_SHAPES["llama3-8b"]


def test_heads_share_nothing_where_no_key_value_heads_are_named(tmp_path: Path) -> None:
    config = {key: value for key, value in LLAMA_8B.items() if key != "num_key_value_heads"}
    assert shape_in(folder(tmp_path, config), "old").kv_heads == 32


def test_mistral_has_the_shape_of_a_llama(tmp_path: Path) -> None:
    assert shape_in(folder(tmp_path, {**LLAMA_8B, "model_type": "mistral"}), "mine").family == "llama"


@pytest.mark.parametrize(
    ("quantization", "stored", "group"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 64}, "int4", 64),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4", 128),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4", 128),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", 128),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 128),
        ({"quant_method": "fbgemm_fp8"}, "float8", 128),
    ],
)
def test_a_quantised_checkpoint_keeps_its_precision(
    tmp_path: Path, quantization: dict[str, Any], stored: str, group: int
) -> None:
    shape = shape_in(folder(tmp_path, {**LLAMA_8B, "quantization_config": quantization}), "mine")
    assert (shape.stored, shape.group) == (stored, group)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "mamba"}, "model_type 'mamba' is none of llama, qwen2, qwen3, starcoder2, mistral"),
        ({"quantization_config": {"bits": 3}}, "neither fp8, nor one of 4 or 8 bits"),
        ({"hidden_size": "wide"}, "not readable"),
        ({"vocab_size": None}, "not readable"),
    ],
)
def test_what_cannot_be_planned_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        shape_in(folder(tmp_path, {**LLAMA_8B, **change}), "mine")


def test_a_missing_dimension_is_named(tmp_path: Path) -> None:
    config = {key: value for key, value in LLAMA_8B.items() if key != "intermediate_size"}
    with pytest.raises(PlanError, match=r"config\.json does not tell 'intermediate_size'"):
        shape_in(folder(tmp_path, config), "mine")
