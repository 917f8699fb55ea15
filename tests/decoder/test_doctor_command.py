"""What doctor says of a model and the devices it is meant for."""

import asyncio
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import typer
from typer.testing import CliRunner, Result

from decoder import doctor_command, expected_place, loading
from decoder.config import DecoderConfig
from decoder.loading import Place, cache_folder
from decoder.plan.devices import Device
from decoder.remembered import LastLoad, Remembered, circumstances
from decoder.wire.endpoint import Endpoint
from tests.decoder.local import PROBED
from tests.decoder.serving import serving
from tests.fakes import ScriptedEngine, byte_tokenizer

GIB = 2**30
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-5,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
}


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 60 GiB of weights, all holes, on a machine with 100 GiB of memory."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.truncate(60 * GIB)
    monkeypatch.setattr(doctor_command, "_memory_bytes", lambda: 100 * GIB)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def gpus(monkeypatch: pytest.MonkeyPatch, number: int, gib: int) -> None:
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: number > 0)
    monkeypatch.setattr(loading, "_openvino_dtype", lambda: "int8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: number > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: number)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda gpu: f"GPU{gpu}")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _gpu: SimpleNamespace(total_memory=gib * GIB))


def doctor(large: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> Result:
    (large / "config.toml").write_text(f'model = "{large}"\n{settings}\n', encoding="utf-8")
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(large / "config.toml"))
    app = typer.Typer()
    app.command()(doctor_command.doctor)
    return CliRunner().invoke(app)


@pytest.mark.parametrize(
    ("num_gpus", "settings", "code", "said"),
    [
        (0, "", 0, "engine: openvino int8 on cpu"),
        (0, 'engine = "torch"', 1, "the weights need 120.0 GiB"),  # float32: only half of it was counted
        (0, 'engine = "openvino"\ndtype = "float32"', 1, "openvino has float16, int8, int4"),
        (0, 'dtype = "bfloat16"', 0, "CPU"),
        (0, 'dtype = "float32"', 1, "the weights need 120.0 GiB"),
        (0, 'device = "cuda"', 1, "cuda was asked for, but torch finds no such GPU"),
        (1, "", 1, "GPU0, 40 GiB; the weights need 60.0 GiB"),
        (2, 'device = "spread"', 0, "GPU0, GPU1, 80 GiB"),  # only the first one was counted
        (2, 'device = "cuda:1"', 1, "GPU1, 40 GiB; the weights"),
        (2, 'device = "cuda:2"', 1, "cuda:2 was asked for, but torch finds no such GPU"),
        (2, 'device = "cpu"\ndtype = "bfloat16"', 0, "CPU"),
    ],
)
def test_what_fits_depends_on_precision_and_devices(
    large: Path, monkeypatch: pytest.MonkeyPatch, num_gpus: int, settings: str, code: int, said: str
) -> None:
    gpus(monkeypatch, num_gpus, gib=40)
    result = doctor(large, monkeypatch, settings)
    assert said in result.stdout
    assert result.exit_code == code, result.stdout


def test_a_gpu_that_nobody_named_and_torch_does_not_find_is_no_problem(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # so it is on every machine with a driver, and torch's build for CPUs
    gpus(monkeypatch, 0, gib=0)
    monkeypatch.setattr(loading, "has_nvidia_gpu", lambda: True)
    result = doctor(large, monkeypatch, "threads = 3")
    assert "openvino int8 on cpu, 3 threads; a GPU driver is here, but torch finds no GPU" in result.stdout
    assert result.exit_code == 0, result.stdout


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            'dtype = "int8"',
            "torch float32 on cpu, 1 threads; openvino is not installed: pip install",
        ),
        ('engine = "openvino"', "engine = 'openvino' is not installed: pip install 'draftline[openvino]'"),
    ],
)
def test_a_missing_openvino_is_told_with_what_follows(
    large: Path, monkeypatch: pytest.MonkeyPatch, settings: str, said: str
) -> None:
    # it was a note even where the settings insist on it, and the weights of 120 GiB were said to fit
    gpus(monkeypatch, 0, gib=0)
    for room in (doctor_command, expected_place):
        monkeypatch.setattr(room, "installed", lambda name: "missing" if name == "openvino" else "1")
    result = doctor(large, monkeypatch, f"threads = 1\n{settings}")
    assert said in result.stdout
    assert result.exit_code == 1, result.stdout


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An OpenVINO that is installed and cannot be imported."""
    (tmp_path / "openvino").mkdir()
    (tmp_path / "openvino" / "__init__.py").write_text("raise ImportError('libopenvino.so: no such file')")
    loaded = [name for name in sys.modules if name.partition(".")[0] == "openvino"]
    for name in [*loaded, *({"decoder.openvino_engine.graph"} & set(sys.modules))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("broken")
def test_a_broken_openvino_is_told_with_what_follows(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # it was "ok", and the exactness of its last load was told, although torch runs the model
    gpus(monkeypatch, 0, gib=0)
    known = Remembered(cache_folder() / "exactness.json")
    known.add(circumstances("openvino int8 on cpu", DecoderConfig(threads=1), large), PROBED)
    result = doctor(large, monkeypatch, "threads = 1")
    assert (
        "torch float32 on cpu, 1 threads; openvino cannot be imported (libopenvino.so: no such file)" in result.stdout
    )
    assert "last load: none as things are" in result.stdout
    assert "is not installed" not in result.stdout
    insists = doctor(large, monkeypatch, 'engine = "openvino"')
    assert (
        "engine = 'openvino' cannot be imported (libopenvino.so: no such file): pip install --force" in insists.stdout
    )


@pytest.mark.parametrize(("gib", "dtype"), [(200, "float32"), (100, "bfloat16")])
def test_a_model_that_openvino_cannot_run_is_told_with_what_follows(
    large: Path, monkeypatch: pytest.MonkeyPatch, gib: int, dtype: str
) -> None:
    # it was promised in int8, which half of the memory would hold
    gpus(monkeypatch, 0, gib=0)
    monkeypatch.setattr(expected_place, "found_host", lambda: Device("cpu", "cpu", "cpu", gib * GIB))
    (large / "config.json").write_text(json.dumps(LLAMA | {"mlp_bias": True}), encoding="utf-8")
    told = doctor(large, monkeypatch, "threads = 1").stdout
    assert f"torch {dtype} on cpu, 1 threads; openvino cannot run {large} (its feed-forward halves have biases)" in told
    assert ("in bfloat16, as float32 needs" in told) == (dtype == "bfloat16")


def test_a_draft_model_that_finds_no_room_is_a_note(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 0, gib=0)
    strange = large / "strange"
    strange.mkdir()
    (strange / "config.json").write_text(json.dumps(LLAMA | {"mlp_bias": True}), encoding="utf-8")
    settings = f'threads = 1\ndraft_model = "{strange}"'
    for gib, is_told in ((200, False), (20, True)):
        monkeypatch.setattr(expected_place, "found_host", lambda gib=gib: Device("cpu", "cpu", "cpu", gib * GIB))
        result = doctor(large, monkeypatch, settings)
        said = f"{strange} does not draft: openvino cannot run {strange} (its feed-forward halves have biases)"
        assert (said in result.stdout) == ("and torch has no room for it" in result.stdout) == is_told
        assert result.exit_code == 0, result.stdout
    insists = doctor(large, monkeypatch, f'engine = "openvino"\n{settings}')
    assert f"engine = 'openvino' cannot run {strange} (its feed-forward halves" in insists.stdout
    assert insists.exit_code == 1


def test_a_containers_memory_is_told_not_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_command, "found_host", lambda: Device("cpu", "cpu", "cpu", 2 * GIB))
    config = DecoderConfig(device="cpu", dtype="int8")
    finding = doctor_command._device(config, Place("openvino", "cpu", "int8"), 4 * GIB)
    assert "2 GiB of memory; the weights need 2.0 GiB in int8" in finding.text


def test_without_a_decoder_it_tells_what_the_last_load_found(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # exactness, load time and memory were told only while a decoder ran
    gpus(monkeypatch, 0, gib=0)
    settings = "threads = 1"
    unknown = "last load: none as things are: the first start tests exactness"
    assert unknown in doctor(large, monkeypatch, settings).stdout
    known = Remembered(cache_folder() / "exactness.json")
    then = circumstances("openvino int8 on cpu", DecoderConfig(threads=1), large)
    known.add(then, PROBED)
    assert "last load: exact: bitwise, 1 to 256 rows a pass\n" in doctor(large, monkeypatch, settings).stdout
    known.note_load(then, LastLoad(2.34, 430 << 20))
    said = "last load: exact: bitwise, 1 to 256 rows a pass, loaded in 2.3 s, 430 MiB resident\n"
    assert said in doctor(large, monkeypatch, settings).stdout
    assert unknown in doctor(large, monkeypatch, "threads = 2").stdout


def test_on_a_gpu_where_the_plan_chooses_the_settings_nothing_untrue_is_said(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus(monkeypatch, 1, gib=200)
    assert "last load" not in doctor(large, monkeypatch, "").stdout


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ("", 0, "draft model: none; drafting is by exact and renamed matches in the text"),
        ('draft = "lookup"', 0, "draft model: none; drafting is by exact matches in the text"),
        ('draft = "none"', 0, "draft model: none; nothing is drafted (draft = 'none')"),
        ('draft = "model"', 1, "draft model: draft 'model' needs a draft model: set draft_model in config.toml"),
    ],
)
def test_drafting_is_told_as_it_is_configured(
    large: Path, monkeypatch: pytest.MonkeyPatch, settings: str, code: int, said: str
) -> None:
    gpus(monkeypatch, 0, gib=0)
    result = doctor(large, monkeypatch, settings)
    assert said in result.stdout
    assert result.exit_code == code, result.stdout


def test_a_draft_model_that_the_settings_keep_from_drafting_is_a_note(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus(monkeypatch, 0, gib=0)
    monkeypatch.setattr(doctor_command, "_memory_bytes", lambda: 300 * GIB)
    told = doctor(large, monkeypatch, f'draft = "lookup"\ndraft_model = "{large}"').stdout
    assert f"{large} does not draft: draft = 'lookup'; set it to 'auto', or unset draft_model" in told
    assert "does not draft" not in doctor(large, monkeypatch, f'draft_model = "{large}"').stdout


def test_a_prompt_family_that_the_tokenizer_lacks_is_a_problem(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 0, gib=0)
    byte_tokenizer()._inner.save(str(large / "tokenizer.json"))
    (large / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|endoftext|>"}), encoding="utf-8")
    result = doctor(large, monkeypatch, 'prompt_family = "qwen2.5-coder"')
    assert "prompt family: prompt_family = 'qwen2.5-coder' needs <|fim_prefix|>" in result.stdout
    assert result.exit_code == 1
    result = doctor(large, monkeypatch, 'prompt_family = "prefix"')
    assert "prompt family: prefix" in result.stdout
    assert result.exit_code == 0, result.stdout


async def test_a_config_that_has_changed_since_the_decoder_read_it_is_told(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(path))
    path.write_text("threads = 1\n", encoding="utf-8")
    async with serving(endpoint, ScriptedEngine()):
        for seconds, verdict in ((-60, "ok"), (60, "note")):
            when = endpoint.pid_path.stat().st_mtime + seconds
            os.utime(path, (when, when))
            finding = await asyncio.wait_for(doctor_command._running(endpoint), 10)
            assert finding.verdict == verdict
            assert ("config.toml has changed since it was read: run `draftline stop`" in finding.text) == (seconds > 0)
