"""What the bench and a peer's process say to each other: a line of JSON each, with the message's type in `type`."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoder.bench.peers.peer import PeerRun, PeerSettings, Ready

if TYPE_CHECKING:
    from cattrs.preconf.json import JsonConverter


@dataclass(frozen=True, slots=True)
class Continue:
    """Asks for a text; answered by `PeerRun` or `Refusal`."""

    prompt_ids: tuple[int, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """The peer cannot do it; reason is one sentence."""

    reason: str


Request = PeerSettings | Continue
"""The settings come once and first; they are answered by `Ready` or `Refusal`."""

Reply = Ready | PeerRun | Refusal


def encode_request(message: Request) -> str:
    """One line, with its end."""
    return str(_converter().dumps(message, unstructure_as=Request)) + "\n"


def encode_reply(message: Reply) -> str:
    """One line, with its end."""
    return str(_converter().dumps(message, unstructure_as=Reply)) + "\n"


def decode_request(line: str) -> Request:
    """The message of a line. Raises ValueError for any other line."""
    return _decode(line, Request)  # type: ignore[return-value]


def decode_reply(line: str) -> Reply:
    """The message of a line. Raises ValueError for any other line."""
    return _decode(line, Reply)  # type: ignore[return-value]


def _decode(line: str, kind: object) -> object:
    try:
        return _converter().loads(line, kind)  # type: ignore[arg-type]
    except Exception as error:  # json and cattrs raise many kinds; all mean the same here
        raise ValueError(f"no message of the peers' protocol: {line.strip()[:120]!r}") from error


@functools.cache
def _converter() -> "JsonConverter":
    from cattrs.preconf.json import make_converter
    from cattrs.strategies import configure_tagged_union

    converter = make_converter(forbid_extra_keys=False)
    for union in (Request, Reply):
        configure_tagged_union(union, converter, tag_name="type")
    return converter
