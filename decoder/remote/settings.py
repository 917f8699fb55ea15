"""Where a completions server is and how it is asked: the table `[engine]` of config.toml with kind = "remote"."""

import dataclasses
import ipaddress
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from decoder.setting import SettingError, check_choice, check_kind, check_range

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OUR_HEADERS = ("host", "content-type", "content-length", "accept-encoding")
_SECRET = ("api_key_env", "headers")
"""What may be a secret where it is wrong: it is never told."""

_RANGES = {
    "context_characters": (200, 1_000_000),
    "connect_seconds": (0.1, 60.0),
    "first_token_seconds": (0.1, 600.0),
    "next_token_seconds": (0.1, 600.0),
}


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """One server and one of its models.

    base_url: ends where the protocol's paths begin, mostly in /v1.
    prompt_family: `prefix`, a family with markers around a gap, or `auto`: what the server's list of models tells.
    api_key_env: the environment variable that holds the key. headers: sent with every request.
    ca_file: certificates to trust besides the usual ones, as PEM.
    context_characters: most characters of a prompt; the server counts tokens, of which code has about one in three.
    first_token_seconds, next_token_seconds: how long the server may be silent before and between tokens.
    """

    base_url: str
    model: str
    prompt_family: str = "auto"
    api_key_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_file: str = ""
    context_characters: int = 6000
    connect_seconds: float = 3.0
    first_token_seconds: float = 20.0
    next_token_seconds: float = 10.0

    @staticmethod
    def of(table: Mapping[str, Any], families: Collection[str]) -> "RemoteSettings":
        """From parsed values, `kind` left out. Raises SettingError. families: the names of the prompt families."""
        examples = _examples()
        for key, value in table.items():
            if key not in examples:
                raise SettingError(f"unknown key 'engine.{key}'; known keys are kind, {', '.join(examples)}")
            if key not in _SECRET:
                check_kind(f"engine.{key}", value, examples[key])
            if key in _RANGES:
                check_range(f"engine.{key}", value, *_RANGES[key])
        for key in ("base_url", "model"):
            if not table.get(key):
                raise SettingError(f"engine.{key} is missing: set it, as in {key} = {examples[key]!r}")
        check_choice("engine.prompt_family", table.get("prompt_family", "auto"), ("auto", *families))
        _check_key_variable(table.get("api_key_env", ""))
        _check_headers(table.get("headers", {}), bool(table.get("api_key_env")))
        return RemoteSettings(**{**table, "base_url": _checked_url(table["base_url"])})

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def is_readable_by_others(self) -> bool:
        """Whether code travels over a network unencrypted."""
        return urlsplit(self.base_url).scheme == "http" and not self.is_local


def _examples() -> dict[str, Any]:
    """By key: a value of the right kind."""
    named = {field.name: field.default for field in dataclasses.fields(RemoteSettings)}
    return named | {"base_url": "http://127.0.0.1:8000/v1", "model": "NAME", "ca_file": "/etc/ssl/own.pem"}


def _checked_url(url: str) -> str:
    """The address without a slash at its end. What may be a password is not told."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is none
    except ValueError as error:
        raise SettingError(f"engine.base_url = {url!r} is no address: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise SettingError("engine.base_url must not hold a user or password: use api_key_env, or [engine.headers]")
    if fault := _url_fault(parts):
        raise SettingError(f"engine.base_url = {url!r} {fault}, as in 'http://127.0.0.1:8000/v1'")
    return url.rstrip("/")


def _url_fault(parts: SplitResult) -> str:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must begin with http:// or https:// and a host"
    if parts.query or parts.fragment:
        return "must end with its path"
    if parts.path.rstrip("/").endswith("/completions"):
        return "must end before /completions"
    return "must not hold blanks" if re.search(r"\s", parts.geturl()) else ""


def _check_key_variable(name: Any) -> None:
    if not isinstance(name, str) or (name and not _VARIABLE.fullmatch(name)):
        raise SettingError(
            "engine.api_key_env must be the name of an environment variable, as in api_key_env = 'LLM_API_KEY',"
            " and not the key"
        )


def _check_headers(headers: Any, has_key: bool) -> None:
    if not isinstance(headers, dict):
        raise SettingError("engine.headers must be a table, as in headers = { X-Team = 'editors' }")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OUR_HEADERS:
            raise SettingError(f"engine.headers: {name!r} is not a header that can be set")
        if name.lower() == "authorization" and has_key:
            raise SettingError(f"engine.headers: {name!r} is made from api_key_env: set one of the two")
        if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            raise SettingError(f"engine.headers: the value of {name!r} must be a string of printable ASCII characters")
