"""One event of a streamed completion, in the protocol of OpenAI's `/v1/completions`."""

import json
from dataclasses import dataclass
from typing import Any

from decoder.remote.errors import RemoteError
from decoder.wire.messages import TokenCounts


@dataclass(frozen=True, slots=True)
class Piece:
    """text: what comes next, mostly one token. finish: why nothing more comes, "" where more may come.

    usage: of the whole request, where the server tells it.
    """

    text: str = ""
    finish: str = ""
    usage: TokenCounts | None = None

    @staticmethod
    def of(data: str) -> "Piece":
        """From an event's data. Raises RemoteError for what is no completion, and for the server's own errors."""
        try:
            value = json.loads(data)
            if value.get("error"):
                raise RemoteError(f"the server stopped with an error: {told(value)}")
            choice: dict[str, Any] = next(iter(value.get("choices") or ()), {})
            return Piece(_string(choice.get("text")), _string(choice.get("finish_reason")), _usage(value.get("usage")))
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            raise RemoteError("the server's stream is not one of an OpenAI-compatible completions API") from error


def told(body: Any, most: int = 200) -> str:
    """What an error's body says for people, in one line of bounded length.

    >>> told({"error": {"message": "too long", "code": 400}})
    'too long'
    """
    while isinstance(body, dict) and (said := next((body[key] for key in _SAYING if key in body), None)) is not None:
        body = said
    text = " ".join((body if isinstance(body, str) else json.dumps(body)).split())
    return text if len(text) <= most else text[:most] + "…"


_SAYING = ("error", "message", "detail")


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
