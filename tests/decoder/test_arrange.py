"""Where a pair goes on machines with GPUs: the memory plan, and what the settings leave to it."""

import json
from pathlib import Path
from typing import Any

import pytest

from decoder import arrange as room
from decoder import loading
from decoder.arrange import arrange
from decoder.config import DecoderConfig
from decoder.engine import EngineError
from decoder.loading import Place
from decoder.plan.devices import parse_devices


def on(monkeypatch: pytest.MonkeyPatch, devices: str, *, torchao: bool = True) -> None:
    """A machine with such devices."""
    found = parse_devices(devices, tuple)
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: True)
    monkeypatch.setattr(room, "found_devices", lambda: found)
    monkeypatch.setattr(room, "installed", lambda _name: "1" if torchao else "missing")


def pair(**settings: Any) -> DecoderConfig:
    return DecoderConfig(model="llama3-70b", draft_model="llama3-8b", **settings)


def test_a_pair_that_fits_is_spread_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "a100-80:2")
    found = arrange(pair())
    assert found.target.dtype == "bfloat16"
    assert found.target.device.startswith("cuda:0=")
    assert found.draft is not None
    assert found.draft.device in ("cuda:0", "cuda:1")
    assert found.notes


def test_where_16_bits_are_too_many_8_are_taken_if_they_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "h200:1")
    assert arrange(pair()).target == Place("torch", "cuda:0", "int8")
    on(monkeypatch, "h200:1", torchao=False)
    assert arrange(pair()).draft is None, "the target in bfloat16 leaves no room for the draft model"


def test_a_checkpoint_that_is_quantised_already_is_loaded_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the loader was told int4, and refused to quantise it again
    on(monkeypatch, "rtx4090:1")
    settings = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "vocab_size": 256,
        "max_position_embeddings": 4096,
        "quantization_config": {"quant_method": "gptq", "bits": 4},
    }
    (tmp_path / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    assert arrange(DecoderConfig(model=str(tmp_path))).target == Place("torch", "cuda:0", "bfloat16")


def test_settings_that_are_named_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "a100-80:4")
    found = arrange(pair(dtype="int4", device="cuda:2", draft_device="cuda:3"))
    assert found.target == Place("torch", "cuda:2", "int4")
    assert found.draft is not None
    assert found.draft.device == "cuda:3"


def test_what_cannot_work_is_refused_with_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "rtx4090:1")
    with pytest.raises(EngineError, match=r"\d+\.\d GiB"):
        arrange(pair())


def test_a_gpu_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, "rtx4090:1")
    with pytest.raises(EngineError, match="torch finds no such GPU"):
        arrange(pair(device="cuda:7"))


def test_a_driver_without_a_gpu_that_torch_finds_is_as_none_unless_it_was_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # with torch's build for CPUs, or under WSL, the default settings were an error
    on(monkeypatch, "cpu:64")
    found = arrange(pair(dtype="int8"))
    assert found.target == Place("openvino", "cpu", "int8", note=found.target.note)
    assert "torch finds no GPU" in found.target.note
    assert found.draft == Place("openvino", "cpu", "int8"), "it is said once"
    with pytest.raises(EngineError, match="torch finds no such GPU"):
        arrange(pair(device="cuda"))


def test_a_draft_device_that_cannot_be_had_is_an_error_not_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: False)
    with pytest.raises(EngineError, match="draft_device = 'cuda:1', but the target runs on the CPU"):
        arrange(pair(dtype="int8", draft_device="cuda:1"))


def test_on_a_cpu_the_models_live_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: False)
    found = arrange(pair(dtype="int8", context_tokens=3000))
    assert found.target == found.draft == Place("openvino", "cpu", "int8")
    assert found.context_tokens == 3000
    assert arrange(DecoderConfig(dtype="int8")).draft is None
