"""One event of a streamed completion, in the protocol of OpenAI's `/v1/completions`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from decoder.remote.errors import RemoteError
from decoder.wire.messages import TokenCounts

_SAYING = ("error", "message", "detail")
_KNOWN = frozenset({"choices", "usage"})
"""At least one of these is in an event."""


def told(body: Any, most: int = 200) -> str:
    """What an error's body says for people, in one line of bounded length.

    >>> told({"error": {"message": "too long", "code": 400}})
    'too long'
    """
    while isinstance(body, dict) and (said := next((body[key] for key in _SAYING if key in body), None)) is not None:
        body = said
    text = " ".join((body if isinstance(body, str) else json.dumps(body)).split())
    return text if len(text) <= most else text[:most] + "…"


@dataclass(frozen=True, slots=True)
class Piece:
    """text: what comes next, mostly one token. finish: why nothing more comes, "" where more may come.

    usage: of the whole request, where the server tells it.
    """

    text: str = ""
    finish: str = ""
    usage: TokenCounts | None = None

    @staticmethod
    def of(data: str, quoted: Callable[[Any], str] = told) -> "Piece":
        """From an event's data. Raises RemoteError for what is no completion, and for the server's own errors.

        quoted: what may be told of an error's body.
        """
        try:
            value = json.loads(data)
            if value.get("error"):
                raise RemoteError(f"the server stopped with an error{_in_brackets(quoted(value))}; see its log")
            if not _KNOWN & value.keys():
                raise ValueError(value)
            choice: dict[str, Any] = next(iter(value.get("choices") or ()), {})
            return Piece(_string(choice.get("text")), _string(choice.get("finish_reason")), _usage(value.get("usage")))
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            raise RemoteError(
                "the server's answer is not one of an OpenAI-compatible completions API; base_url in [engine] of"
                " config.toml mostly ends in /v1"
            ) from error


def _in_brackets(said: str) -> str:
    return f" ({said})" if said else ""


def _string(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _usage(value: Any) -> TokenCounts | None:
    if not value:
        return None
    cached = (value.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return TokenCounts(int(value.get("prompt_tokens") or 0), int(cached), int(value.get("completion_tokens") or 0))
