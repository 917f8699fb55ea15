"""What torch loads on a CPU where openvino cannot: by what is free."""

import json
from pathlib import Path
from typing import Any

import pytest

from decoder.fallback import Fallback, fallback
from decoder.plan.devices import GIB, Device
from decoder.plan.errors import NoRoomError

QWEN_7B = {
    "model_type": "qwen2",
    "num_hidden_layers": 28,
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
}
"""7.6 billion parameters: 28.4 GiB in float32, 14.2 in bfloat16."""


def model(folder: Path, settings: dict[str, Any], *, stored_bytes: int = 0) -> Path:
    """A folder as far as a plan looks into it; the file of weights is a hole."""
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(stored_bytes)
    return folder


def host(gib: float, *, used: float = 0) -> Device:
    return Device("cpu", "cpu", "cpu", int(gib * GIB), used_bytes=int(used * GIB))


def test_float32_is_taken_where_it_has_room(tmp_path: Path) -> None:
    assert fallback("qwen", model(tmp_path, QWEN_7B), 2048, host(64)) == Fallback("float32", 2048)


@pytest.mark.parametrize("memory", [host(32), host(64, used=32)])
def test_bfloat16_is_taken_where_float32_has_none_and_the_note_has_the_figures(tmp_path: Path, memory: Device) -> None:
    # float32 was taken whatever there was, 4 to 8 times the memory that had been asked for
    found = fallback("qwen", model(tmp_path, QWEN_7B), 2048, memory)
    assert (found.dtype, found.context_tokens) == ("bfloat16", 2048)
    assert found.note.startswith("in bfloat16, as float32 needs 29.3 GiB and ")
    assert found.note.endswith(f"and {memory.usable_bytes / GIB:.1f} GiB can be used")


def test_the_context_is_shortened_only_where_that_is_not_enough(tmp_path: Path) -> None:
    found = fallback("qwen", model(tmp_path, QWEN_7B), 32768, host(18.5))
    assert found.dtype == "bfloat16"
    assert 512 <= found.context_tokens < 32768
    assert f"with {found.context_tokens:,} tokens of context" in found.note


def test_what_has_no_room_at_all_is_refused_with_figures(tmp_path: Path) -> None:
    # int8 was advised, which torch has on GPUs only
    said = r"^qwen does not fit cpu:12: it needs 1\d\.\d GiB in bfloat16, and 10\.8 GiB can be used; choose a smaller"
    with pytest.raises(NoRoomError, match=said):
        fallback("qwen", model(tmp_path, QWEN_7B), 2048, host(12))


@pytest.mark.parametrize(("gib", "dtype"), [(32, "float32"), (16, "bfloat16")])
def test_of_an_unknown_architecture_the_weights_decide(tmp_path: Path, gib: int, dtype: str) -> None:
    folder = model(tmp_path, {"model_type": "granite"}, stored_bytes=10 * GIB)
    found = fallback("granite", folder, 2048, host(gib))
    assert (found.dtype, found.context_tokens) == (dtype, 2048)
    assert ("float32 needs 20.0 GiB and 14.4 GiB can be used" in found.note) == (dtype == "bfloat16")


def test_an_unknown_architecture_without_room_is_refused_with_figures(tmp_path: Path) -> None:
    folder = model(tmp_path, {"model_type": "granite"}, stored_bytes=10 * GIB)
    with pytest.raises(NoRoomError, match=r"its weights alone take 10\.0 GiB in bfloat16, and 7\.2 GiB can be used"):
        fallback("granite", folder, 2048, host(8))


def test_a_quantised_checkpoint_is_loaded_as_it_is(tmp_path: Path) -> None:
    folder = model(tmp_path, QWEN_7B | {"quantization_config": {"quant_method": "gptq", "bits": 4}})
    assert fallback("qwen", folder, 2048, host(16)) == Fallback("bfloat16", 2048)
