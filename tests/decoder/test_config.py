from pathlib import Path
from typing import Any

import pytest

from decoder.config import ConfigError, DecoderConfig, from_values


@pytest.fixture
def config_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(path))
    return path


def test_a_file_names_only_what_differs(config_file: Path) -> None:
    config_file.write_text('model = "other"\nidle_exit_minutes = 0\n')
    assert DecoderConfig.load() == DecoderConfig(model="other", idle_exit_minutes=0)


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("model", 3, "must be a string"),
        ("model", ["a"], "must be a string"),
        ("model", "", "must name a model, as in model = 'smollm2-135m'"),
        ("dtype", "half", "must be one of auto, float32, bfloat16, float16, int8, int4"),
        ("device", "gpu", "must be one of auto, cpu, cuda, cuda:N, spread"),
        ("engine", "vllm", "must be one of auto, openvino, torch"),
        ("acceptance", "none", "must be one of auto, coupled, rejection"),
        ("draft_device", "spread", "must be one of auto, cpu, cuda, cuda:N"),
        ("kv_cache_mb", -1, "must be at least 0"),
        ("device", "cuda:x", "must be one of auto, cpu, cuda, cuda:N, spread"),
        ("threads", -1, "must be at least 0"),
        ("threads", 10**20, "must be at most 1024"),
        ("threads", 2.5, "must be a whole number"),
        ("threads", True, "must be a whole number"),
        ("context_tokens", 63, "must be at least 64"),
        ("context_tokens", "2048", "must be a whole number"),
        ("prompt_tokens", 15, "must be at least 16"),
        ("prompt_tokens", False, "must be a whole number"),
        ("idle_exit_minutes", -0.5, "must be at least 0"),
        ("idle_exit_minutes", float("nan"), "must be at least 0"),
        ("idle_exit_minutes", True, "must be a number"),
        ("idle_exit_minutes", "20", "must be a number"),
        ("draft", "magic", "must be one of none, lookup, syntax, model, auto"),
        ("gamma", "some", "must be 'auto' or a whole number"),
        ("gamma", 65, "must be at most 64"),
        ("gamma", -1, "must be at least 0"),
        ("gamma", 2.5, "must be a whole number"),
        ("temperature", 2.5, "must be at most 2"),
        ("temperature", "warm", "must be a number"),
        ("background_tokens", 1025, "must be at most 1024"),
        ("background_tokens", -1, "must be at least 0"),
        ("neighbour_tokens", -1, "must be at least 0"),
        ("neighbour_tokens", "few", "must be 'auto' or a whole number"),
        ("prompt_family", "llama", "must be one of auto, prefix, "),
        ("log_level", "loud", "must be one of debug, info, warning, error"),
    ],
)
def test_a_bad_value_is_named_with_what_is_accepted(key: str, value: Any, accepted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_values({key: value}, "here.toml")
    assert str(caught.value).startswith(f"here.toml: {key} = {value!r} {accepted}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("device", "cuda:1"),
        ("device", "spread"),
        ("dtype", "bfloat16"),
        ("dtype", "int4"),
        ("engine", "torch"),
        ("acceptance", "rejection"),
        ("draft_device", "cuda:1"),
        ("idle_exit_minutes", 0),
        ("threads", 0),
        ("draft", "syntax"),
        ("gamma", 0),
        ("temperature", 1),
        ("background_tokens", 0),
        ("prompt_family", "starcoder2"),
    ],
)
def test_a_good_value_is_taken_as_it_is(key: str, value: Any) -> None:
    assert getattr(from_values({key: value}, "here.toml"), key) == value


def test_an_unknown_key_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"^here.toml: unknown key 'modell'; known keys are model, draft_model, "):
        from_values({"modell": "x"}, "here.toml")


def test_gamma_may_be_left_to_the_decoder() -> None:
    assert from_values({"gamma": "auto"}, "here.toml").gamma is None
    assert from_values({}, "here.toml").gamma is None


@pytest.mark.parametrize("key", ["enabled", "comments", "maxTokens", "deadlineMs", "debounceMs", "exclude"])
def test_a_setting_of_the_editor_is_told_from_an_unknown_one(key: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown key '{key}'; it is a setting of the editor, see the README"):
        from_values({key: 1}, "here.toml")


def test_a_prompt_must_leave_room_for_the_completion() -> None:
    with pytest.raises(ConfigError, match=r"prompt_tokens \(2048\) must be less than context_tokens \(2048\)"):
        from_values({"prompt_tokens": 2048}, "here.toml")


def test_a_named_file_must_exist(config_file: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^DRAFTLINE_CONFIG names .*config\.toml, which does not exist; make it, or unset that$"
    ):
        DecoderConfig.load()
    config_file.mkdir()
    with pytest.raises(ConfigError, match=r"^cannot read .*config\.toml: "):
        DecoderConfig.load()


@pytest.mark.parametrize("named", ["", None])
def test_the_users_own_file_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str | None) -> None:
    # an empty variable was taken for a name, and the default file reported as named and missing
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("DRAFTLINE_CONFIG", raising=False)
    if named is not None:
        monkeypatch.setenv("DRAFTLINE_CONFIG", named)
    assert DecoderConfig.load() == DecoderConfig()


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"model = ", "is not valid TOML: .*; correct the file"), (b"\xff\xfe", "cannot read .*; make it a text file")],
)
def test_a_damaged_file_is_named_in_one_line(config_file: Path, content: bytes, fault: str) -> None:
    config_file.write_bytes(content)
    with pytest.raises(ConfigError, match=fault) as caught:
        DecoderConfig.load()
    assert str(config_file) in str(caught.value)
    assert "\n" not in str(caught.value)
