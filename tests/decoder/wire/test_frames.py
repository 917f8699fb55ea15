import asyncio
import struct
from typing import Any, get_args

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.wire import frames
from decoder.wire.frames import WireError, encode_reply, encode_request, read_reply, read_request
from decoder.wire.messages import Answer, Cancel, Complete, Hello, Reply, Request, Sampling, StatusQuery, Welcome

NUMBERS = st.integers(-(2**63), 2**64 - 1)
st.register_type_strategy(int, NUMBERS)
st.register_type_strategy(float, st.floats(allow_nan=False))
st.register_type_strategy(str, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
REQUESTS = st.one_of(*(st.from_type(kind) for kind in get_args(Request)))
REPLIES = st.one_of(*(st.from_type(kind) for kind in get_args(Reply)))


def stream(*chunks: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    for chunk in chunks:
        reader.feed_data(chunk)
    reader.feed_eof()
    return reader


def frame(body: Any) -> bytes:
    packed: bytes = msgpack.packb(body)
    return struct.pack(">I", len(packed)) + packed


@settings(max_examples=300)
@given(st.lists(REQUESTS, max_size=4))
def test_every_request_arrives_as_it_was_sent(messages: list[Request]) -> None:
    async def received() -> list[Request]:
        reader = stream(*map(encode_request, messages))
        return [message async for message in _all(read_request, reader)]

    assert asyncio.run(received()) == messages


@settings(max_examples=200)
@given(st.lists(REPLIES, max_size=4))
def test_every_reply_arrives_as_it_was_sent(messages: list[Reply]) -> None:
    async def received() -> list[Reply]:
        reader = stream(*map(encode_reply, messages))
        return [message async for message in _all(read_reply, reader)]

    assert asyncio.run(received()) == messages


async def _all(read: Any, reader: asyncio.StreamReader) -> Any:
    while (message := await read(reader)) is not None:
        yield message


async def test_a_frame_may_arrive_a_byte_at_a_time() -> None:
    message = Complete(1, "x", "python", "é😀\r\n", "\x00")
    sent = encode_request(message)
    assert await read_request(stream(*(bytes([byte]) for byte in sent))) == message


async def test_what_a_newer_peer_adds_is_passed_over_and_what_it_leaves_out_has_its_default() -> None:
    newer = frame({"type": "Hello", "version": "9.0", "client": "x", "colour": "blue", "nested": {"a": [1]}})
    assert await read_request(stream(newer)) == Hello("9.0", "x")
    sampling = frame(
        {"type": "Complete", "id": 1, "document": "x", "language": "", "prefix": "", "suffix": "", "sampling": {"z": 1}}
    )
    assert await read_request(stream(sampling)) == Complete(1, "x", "", "", "", sampling=Sampling())


@pytest.mark.parametrize(
    "sent",
    [
        frame({"type": "Unheard", "id": 1}),
        frame({"id": 1}),
        frame({"type": "Cancel"}),
        frame({"type": "Cancel", "id": "one"}),
        frame({"type": ["Cancel"], "id": 1}),
        frame({"type": "Answer", "id": 1}),  # a reply is no request
        frame({"type": "Feedback", "id": 1, "outcome": "eaten"}),
        frame({"type": "BufferEdited", "document": "x", "base_version": 1, "version": 2, "edits": 7}),
        frame([1, 2]),
        frame(None),
        struct.pack(">I", 0),
        struct.pack(">I", 4) + b"\xc1\xc1\xc1\xc1",
        struct.pack(">I", 2) + b"\xa5x",
        struct.pack(">I", 5000) + b"\x91" * 5000,
        struct.pack(">I", 18) + msgpack.packb({"type": "Cancel", "id": 1}) + b"\x01",
    ],
)
async def test_anything_else_is_an_error_of_the_wire(sent: bytes) -> None:
    with pytest.raises(WireError):
        await read_request(stream(sent))


@pytest.mark.parametrize("length", [1, 3, 4, 10])
async def test_a_stream_that_ends_inside_a_frame_is_an_error(length: int) -> None:
    sent = encode_request(Cancel(1))
    with pytest.raises(WireError, match="ended inside a frame"):
        await read_request(stream(sent[:length]))


async def test_a_stream_that_ends_between_frames_is_the_end() -> None:
    reader = stream(encode_request(StatusQuery()))
    assert await read_request(reader) == StatusQuery()
    assert await read_request(reader) is None
    assert await read_reply(stream()) is None


async def test_a_foreign_protocol_is_refused_before_it_is_read() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"GET / HTTP/1.1\r\n")  # `GET ` announces 1.2 GB
    with pytest.raises(WireError, match="this is not draftline's protocol"):
        await read_request(reader)


def test_a_message_over_the_limit_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 100)
    with pytest.raises(WireError, match="is over the limit of 100"):
        encode_request(Complete(1, "x", "", "p" * 100, ""))


def test_half_a_surrogate_pair_is_not_sent() -> None:
    with pytest.raises(WireError, match="a Complete holds half a surrogate pair"):
        encode_request(Complete(1, "x", "", "\ud83d", ""))


def test_a_number_too_large_is_not_sent() -> None:
    with pytest.raises(WireError, match="Cancel"):
        encode_request(Cancel(2**64))


async def test_numbers_are_not_read_as_anything_else() -> None:
    answer = Answer(2**53 + 1, "x")
    assert await read_reply(stream(encode_reply(answer))) == answer
    assert await read_reply(stream(encode_reply(Welcome("1", 2, busy=True)))) == Welcome("1", 2, busy=True)
