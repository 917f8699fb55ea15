"""Settings of the decoder process: `config.toml`, validated in one place at start."""

import dataclasses
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_config_path

from decoder.accept import AcceptanceRule

Dtype = Literal["float32", "bfloat16", "float16", "int8", "int4"]
EngineName = Literal["openvino", "torch"]
LogLevel = Literal["debug", "info", "warning", "error"]
_CHOICES: dict[str, tuple[str, ...]] = {
    "engine": ("auto", "openvino", "torch"),
    "dtype": ("auto", "float32", "bfloat16", "float16", "int8", "int4"),
    "acceptance": ("auto", "coupled", "rejection"),
    "log_level": ("debug", "info", "warning", "error"),
}
_DEVICES = {
    "device": (re.compile(r"auto|cpu|cuda(:\d+)?|spread"), "auto, cpu, cuda, cuda:N, spread"),
    "draft_device": (re.compile(r"auto|cpu|cuda(:\d+)?"), "auto, cpu, cuda, cuda:N"),
}
_KINDS = {str: "a string", int: "a whole number", float: "a number"}
_LEAST = {"context_tokens": 64, "prompt_tokens": 16, "kv_cache_mb": 0, "threads": 0, "idle_exit_minutes": 0}
_MOST = {"threads": 1024, "kv_cache_mb": 1 << 24}


class ConfigError(Exception):
    """A setting that cannot be used; the text names the file, the key, the value and what is accepted."""


_OF_THE_EDITOR = ("enabled", "languages", "exclude", "maxTokens", "multiline", "temperature", "draft", "gamma")


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Every setting has a default; a file names only what differs.

    model, draft_model: a catalog name, a local folder, or a hub id.
    engine: auto is openvino on a CPU, if it can run the model in the wanted dtype, and torch otherwise.
    dtype: of the weights. openvino has float16, int8 and int4; auto is float16 on processors with bfloat16
        arithmetic, else int8. torch has float32, bfloat16, and on CUDA int8 and int4; auto is bfloat16 on CUDA,
        float32 on a CPU.
    acceptance: how sampled drafts are verified; auto is coupled where the engine is bitwise exact, else rejection.
    device: cpu, cuda:N, cuda or spread (as many GPUs as needed), or auto: CUDA where there is one. With GPUs, the
        memory plan decides what `auto` leaves open (see `draftline doctor --plan`).
    draft_device: cpu, cuda, cuda:N, or auto: a GPU of its own where one is left over, else beside the target.
    threads: 0 means as many as there are cores for this process.
    context_tokens: longest sequence in the KV cache. prompt_tokens: budget of a prompt.
    kv_cache_mb: memory for keys and values of earlier prompts as well (openvino); one sequence always fits.
    idle_exit_minutes: the decoder leaves after so long without any client; 0 means never.
    """

    model: str = "smollm2-135m"
    draft_model: str = ""
    engine: EngineName | Literal["auto"] = "auto"
    dtype: Dtype | Literal["auto"] = "auto"
    acceptance: AcceptanceRule | Literal["auto"] = "auto"
    device: str = "auto"
    draft_device: str = "auto"
    threads: int = 0
    context_tokens: int = 2048
    prompt_tokens: int = 1024
    kv_cache_mb: int = 256
    idle_exit_minutes: float = 20.0
    log_level: LogLevel = "info"

    @staticmethod
    def path() -> Path:
        """The file named by DRAFTLINE_CONFIG, else `config.toml` in the user's configuration directory."""
        named = os.environ.get("DRAFTLINE_CONFIG")
        return Path(named) if named else user_config_path("draftline", appauthor=False) / "config.toml"

    @staticmethod
    def load() -> "DecoderConfig":
        """The user's settings. Raises ConfigError; only a file that nobody named may be missing."""
        path = DecoderConfig.path()
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            if os.environ.get("DRAFTLINE_CONFIG"):
                raise ConfigError(f"DRAFTLINE_CONFIG names {path}, which does not exist") from error
            return DecoderConfig()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {path}: {error}") from error
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path} is not valid TOML: {error}") from error
        return from_values(values, str(path))


def from_values(values: dict[str, Any], source: str) -> DecoderConfig:
    """Settings from parsed values. Raises ConfigError naming `source` and the key at fault."""
    fields = {field.name: field for field in dataclasses.fields(DecoderConfig)}
    for key, value in values.items():
        if key not in fields:
            hint = "it is a setting of the editor, see the README; " if key in _OF_THE_EDITOR else ""
            raise ConfigError(f"{source}: unknown key '{key}'; {hint}known keys are {', '.join(fields)}")
        _check(key, value, fields[key].default, source)
    config = DecoderConfig(**values)
    if config.prompt_tokens >= config.context_tokens:
        raise ConfigError(
            f"{source}: prompt_tokens ({config.prompt_tokens}) must be less than context_tokens"
            f" ({config.context_tokens}), to leave room for the completion"
        )
    return config


def _check(key: str, value: Any, default: Any, source: str) -> None:
    kind = (int, float) if isinstance(default, float) else type(default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ConfigError(f"{source}: {key} = {value!r} must be {_KINDS[type(default)]}, as in {key} = {default!r}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ConfigError(f"{source}: {key} = {value!r} must be one of {', '.join(_CHOICES[key])}")
    if key in _DEVICES and not _DEVICES[key][0].fullmatch(str(value)):
        raise ConfigError(f"{source}: {key} = {value!r} must be one of {_DEVICES[key][1]}")
    if key in _LEAST and not value >= _LEAST[key]:  # not `<`, which is false of NaN
        raise ConfigError(f"{source}: {key} = {value!r} must be at least {_LEAST[key]}")
    if key in _MOST and value > _MOST[key]:
        raise ConfigError(f"{source}: {key} = {value!r} must be at most {_MOST[key]}")
    if key == "model" and not value:
        raise ConfigError(f"{source}: {key} = {value!r} must name a model, as in {key} = {default!r}")
