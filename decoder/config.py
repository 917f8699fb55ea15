"""Settings of the decoder process: `config.toml`, validated in one place at start."""

import dataclasses
import math
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_config_path

from decoder.accept import AcceptanceRule
from decoder.prompt_families import FAMILIES
from decoder.remote.settings import RemoteSettings
from decoder.setting import SettingError, check_choice, check_kind, check_range
from decoder.wire.messages import Draft

Dtype = Literal["float32", "bfloat16", "float16", "int8", "int4"]
EngineName = Literal["openvino", "torch"]
LogLevel = Literal["debug", "info", "warning", "error"]
_FAMILY_NAMES = tuple(family.name for family in FAMILIES)
_CHOICES: dict[str, tuple[str, ...]] = {
    "engine": ("auto", "openvino", "torch"),
    "dtype": ("auto", "float32", "bfloat16", "float16", "int8", "int4"),
    "acceptance": ("auto", "coupled", "rejection"),
    "draft": ("none", "lookup", "syntax", "model", "auto"),
    "prompt_family": ("auto", *_FAMILY_NAMES),
    "log_level": ("debug", "info", "warning", "error"),
}
_DEVICES = {
    "device": (re.compile(r"auto|cpu|cuda(:\d+)?|spread"), "auto, cpu, cuda, cuda:N, spread"),
    "draft_device": (re.compile(r"auto|cpu|cuda(:\d+)?"), "auto, cpu, cuda, cuda:N"),
}
_RANGES: dict[str, tuple[float, float]] = {
    "context_tokens": (64, math.inf),
    "prompt_tokens": (16, math.inf),
    "kv_cache_mb": (0, 1 << 24),
    "threads": (0, 1024),
    "gamma": (0, 64),
    "temperature": (0, 2),
    "background_tokens": (0, 1024),
    "neighbour_tokens": (0, math.inf),
    "idle_exit_minutes": (0, math.inf),
}
_OR_AUTO = {"gamma": 5, "neighbour_tokens": 256}
"""Whole numbers, as these examples, or "auto", which is None inside."""


class ConfigError(Exception):
    """A setting that cannot be used; the text names the file, the key, the value and what is accepted."""


_OF_THE_EDITOR = ("enabled", "languages", "comments", "multiline", "maxTokens", "deadlineMs", "debounceMs", "exclude")


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
    draft, gamma, temperature: where a request leaves them open; gamma None lets the decoder choose ("auto" in a file).
    background_tokens: written after an answer for what the person may want next; 0 means none.
    neighbour_tokens: of a prompt, for passages of other open documents; None ("auto" in a file) is a quarter of
        it where context_tokens is at least 4096, else none.
    prompt_family: how the model wants to see a file; auto asks its tokenizer.
    idle_exit_minutes: the decoder leaves after so long without any client; 0 means never.
    remote: the server that writes in place of a model in this process; the settings of models are idle then.
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
    draft: Draft = "auto"
    gamma: int | None = None
    temperature: float = 0.0
    background_tokens: int = 64
    neighbour_tokens: int | None = None
    prompt_family: str = "auto"
    idle_exit_minutes: float = 20.0
    log_level: LogLevel = "info"
    remote: RemoteSettings | None = None

    @staticmethod
    def path() -> Path:
        """The file named by DRAFTLINE_CONFIG, else `config.toml` in the user's configuration directory."""
        named = os.environ.get("DRAFTLINE_CONFIG")
        return Path(named) if named else user_config_path("draftline", appauthor=False) / "config.toml"

    @staticmethod
    def stamp() -> tuple[int, int] | None:
        """Differs once the file has changed: when it was written, in ns, and its bytes; None where there is none."""
        try:
            found = DecoderConfig.path().stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    @staticmethod
    def load() -> "DecoderConfig":
        """The user's settings. Raises ConfigError; only a file that nobody named may be missing."""
        path = DecoderConfig.path()
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            if os.environ.get("DRAFTLINE_CONFIG"):
                raise ConfigError(
                    f"DRAFTLINE_CONFIG names {path}, which does not exist; make it, or unset that"
                ) from error
            return DecoderConfig()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {path}: {error}; make it a text file in UTF-8 that you may read") from error
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path} is not valid TOML: {error}; correct the file") from error
        return from_values(values, str(path))


def from_values(values: dict[str, Any], source: str) -> DecoderConfig:
    """Settings from parsed values. Raises ConfigError naming `source` and the key at fault."""
    try:
        return _config(values)
    except SettingError as error:
        raise ConfigError(f"{source}: {error}") from error


def _config(values: dict[str, Any]) -> DecoderConfig:
    fields = {field.name: field.default for field in dataclasses.fields(DecoderConfig) if field.name != "remote"}
    engine, remote = _engine(values.get("engine", "auto"))
    settled = {**values, "engine": engine}
    for key, value in settled.items():
        if key not in fields:
            hint = "it is a setting of the editor, see the README; " if key in _OF_THE_EDITOR else ""
            raise SettingError(f"unknown key '{key}'; {hint}known keys are {', '.join(fields)}")
        _check(key, value, fields[key])
    settled |= {key: None for key in _OR_AUTO if settled.get(key) == "auto"}
    config = DecoderConfig(**settled, remote=remote)
    if config.prompt_tokens >= config.context_tokens:
        raise SettingError(
            f"prompt_tokens ({config.prompt_tokens}) must be less than context_tokens ({config.context_tokens}), to"
            " leave room for the completion"
        )
    return config


def _engine(value: Any) -> tuple[Any, RemoteSettings | None]:
    """What `engine` stands for: the name of a local one, or a table of either kind."""
    if not isinstance(value, dict):
        return value, None
    table = dict(value)
    if "kind" not in table:
        raise SettingError("engine.kind is missing: set kind = 'remote' or kind = 'local'")
    kind = table.pop("kind")
    check_choice("engine.kind", kind, ("local", "remote"))
    if kind == "remote":
        return "auto", RemoteSettings.of(table, _FAMILY_NAMES)
    name = table.pop("name", "auto")
    if table:
        raise SettingError(f"unknown key 'engine.{next(iter(table))}'; with kind = 'local' there is name, and no other")
    check_kind("engine.name", name, "auto")
    check_choice("engine.name", name, _CHOICES["engine"])
    return name, None


def _check(key: str, value: Any, default: Any) -> None:
    if key in _OR_AUTO and isinstance(value, str):
        if value != "auto":
            raise SettingError(f"{key} = {value!r} must be 'auto' or a whole number, as in {key} = {_OR_AUTO[key]}")
        return
    check_kind(key, value, _OR_AUTO.get(key, default))
    if key in _CHOICES:
        check_choice(key, value, _CHOICES[key])
    if key in _DEVICES and not _DEVICES[key][0].fullmatch(value):
        raise SettingError(f"{key} = {value!r} must be one of {_DEVICES[key][1]}")
    if key in _RANGES:
        check_range(key, value, *_RANGES[key])
    if key == "model" and not value:
        raise SettingError(f"{key} = {value!r} must name a model, as in {key} = {default!r}")
