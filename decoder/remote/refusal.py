"""What keeps a server from answering, in words for people."""

import json
import math
from collections.abc import Mapping
from typing import Any

import httpx

from decoder.remote.errors import Blame, RemoteError
from decoder.remote.piece import told
from decoder.remote.settings import RemoteSettings

_QUOTED = 16
"""Characters in a row that a message and a prompt have in common: it quotes code."""

_MOST_RETRY_SECONDS = 300.0
_SETTINGS = "in [engine] of config.toml"


def refusal(
    settings: RemoteSettings, status: int, headers: Mapping[str, str], body: bytes, *, secret: str, prompt: str = ""
) -> RemoteError:
    """For an answer that is not 200. secret, prompt: what must not be told, even where the server quotes it."""
    blame, remedy = _remedy(settings, status)
    said = may_be_told(_parsed(body), secret, prompt)
    return RemoteError(
        f"{settings.base_url} answered {status}{f' ({said})' if said else ''}; {remedy}",
        blame,
        retry_seconds=_retry_seconds(headers.get("retry-after", "")),
        status=status,
    )


def fault(settings: RemoteSettings, error: httpx.HTTPError) -> RemoteError:
    """For a server that cannot be reached, or breaks off."""
    text = str(error) or type(error).__name__
    where = settings.base_url
    if isinstance(error, httpx.ConnectTimeout):
        remedy = f"start the server, or set connect_seconds {_SETTINGS}"
        return RemoteError(f"{where} could not be reached within {settings.connect_seconds:g} s; {remedy}")
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return RemoteError(f"{where} has a certificate that is not trusted; set ca_file {_SETTINGS}", "settings")
    if isinstance(error, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol):
        remedy = f"start the server, or change base_url {_SETTINGS}"
        return RemoteError(f"{where} cannot be reached ({text}); {remedy}", is_certain=True)
    return RemoteError(f"{where} broke off ({text}); see the server's log")


def silence(settings: RemoteSettings, seconds: float, key: str) -> RemoteError:
    """For a server that says nothing for too long. key: the setting that says how long that is.

    One is enough: who types on takes most requests back long before that.
    """
    return RemoteError(
        f"{settings.base_url} was silent for {seconds:g} s; see whether it is overloaded, or set {key} {_SETTINGS}",
        is_certain=True,
    )


def not_a_stream(settings: RemoteSettings, kind: str) -> RemoteError:
    """For an answer of another content type."""
    what = kind.partition(";")[0][:40] or "nothing"
    return RemoteError(
        f"{settings.base_url} answered {what} and no completion; base_url {_SETTINGS} must be that of an"
        " OpenAI-compatible server, mostly ending in /v1",
        "settings",
    )


def no_list(settings: RemoteSettings) -> RemoteError:
    """For something else than a list of models."""
    return RemoteError(f"{settings.base_url}/models is no list of models; is base_url {_SETTINGS} right?", "settings")


def _remedy(settings: RemoteSettings, status: int) -> tuple[Blame, str]:
    if status in (401, 403):
        return "settings", _key_remedy(settings)
    if status in (404, 405):
        return "settings", (
            f"set model to another one if the server has no {settings.model!r}, or base_url, which mostly ends in /v1,"
            f" {_SETTINGS}"
        )
    if 300 <= status < 400:
        return "settings", f"it is somewhere else, set base_url {_SETTINGS} to where"
    if status == 429:
        return "server", "wait, or raise the server's limit: too many requests, or the quota is used up"
    if status >= 500:
        return "server", "see the server's log"
    return "request", f"if the prompt is too long, lower context_characters {_SETTINGS} and run `draftline stop`"


def _key_remedy(settings: RemoteSettings) -> str:
    if settings.api_key_env:
        return (
            f"the key in the environment variable {settings.api_key_env} is not accepted: quit the editor, run"
            " `draftline stop`, and start the editor with another one set"
        )
    return f"it wants a key: set api_key_env {_SETTINGS} to the name of the environment variable that holds it"


def may_be_told(body: Any, secret: str, prompt: str) -> str:
    """What an error's body says, without what only sets a remedy apart; "" where it quotes the key or code."""
    text = told(body).replace("; ", ", ")
    if secret and secret[-4:] in text:
        return ""
    quotes = any(text[begin : begin + _QUOTED] in prompt for begin in range(len(text) - _QUOTED + 1))
    return "" if quotes else text


def _parsed(body: bytes) -> Any:
    """A page of HTML says nothing to people."""
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return "" if "<" in text else text


def _retry_seconds(value: str) -> float:
    """Of a Retry-After header in seconds; its other form, a date, is as good as none."""
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return min(max(0.0, seconds), _MOST_RETRY_SECONDS) if math.isfinite(seconds) else 0.0
