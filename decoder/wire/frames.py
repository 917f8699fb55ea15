"""Messages as bytes: a 4-byte big-endian length, then one MessagePack map with the message's type in `type`."""

import asyncio
import functools
import struct
from typing import TYPE_CHECKING, TypeVar

from decoder.wire.messages import Reply, Request

if TYPE_CHECKING:
    from cattrs.preconf.msgpack import MsgpackConverter

MAX_FRAME_BYTES = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_Message = TypeVar("_Message")


class WireError(Exception):
    """The peer broke the protocol, or cannot be reached; the text says which and what to do."""


def encode_request(message: Request) -> bytes:
    """One frame with a client's message. Raises WireError for what cannot be sent."""
    return _frame(message, Request)


def encode_reply(message: Reply) -> bytes:
    """One frame with a decoder's message. Raises WireError for what cannot be sent."""
    return _frame(message, Reply)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next message of a client; None at a clean end of the stream.

    Raises WireError for anything that is not a frame with a known message.
    """
    return await _read(reader, Request)  # type: ignore[arg-type]


async def read_reply(reader: asyncio.StreamReader) -> Reply | None:
    """The next message of the decoder; None at a clean end of the stream. Raises WireError as `read_request`."""
    return await _read(reader, Reply)  # type: ignore[arg-type]


@functools.cache
def _converter() -> "MsgpackConverter":
    """Built with the first message: the language server answers `initialize` before it needs one."""
    from cattrs.preconf.msgpack import make_converter
    from cattrs.strategies import configure_tagged_union

    converter = make_converter(forbid_extra_keys=False)
    for union in (Request, Reply):
        configure_tagged_union(union, converter, tag_name="type")
    return converter


def _frame(message: object, kind: object) -> bytes:
    try:
        body: bytes = _converter().dumps(message, unstructure_as=kind)
    except UnicodeEncodeError as error:
        raise WireError(f"a {type(message).__name__} holds half a surrogate pair, which UTF-8 cannot say") from error
    except OverflowError as error:
        raise WireError(f"a {type(message).__name__} holds a number of more than 64 bits") from error
    if len(body) > MAX_FRAME_BYTES:
        raise WireError(f"a message of {len(body)} bytes is over the limit of {MAX_FRAME_BYTES}")
    return _LENGTH.pack(len(body)) + body


async def _read(reader: asyncio.StreamReader, kind: type[_Message]) -> _Message | None:
    try:
        head = await reader.readexactly(_LENGTH.size)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise WireError("the connection ended inside a frame") from error
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MAX_FRAME_BYTES:
        raise WireError(
            f"a frame announces {length} bytes, the limit is {MAX_FRAME_BYTES}: this is not draftline's protocol"
        )
    try:
        body = await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        raise WireError("the connection ended inside a frame") from error
    try:
        return _converter().loads(body, kind)
    except Exception as error:  # msgpack and cattrs raise many kinds; all mean the same here
        raise WireError(f"a frame of {length} bytes holds no known message: {_fault(error)}") from error


def _fault(error: Exception) -> str:
    """What was wrong with a message and where, without its content, which must not get into a log."""
    from cattrs import transform_error

    return f"{type(error).__name__}, {'; '.join(transform_error(error))}"
