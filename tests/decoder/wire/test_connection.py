import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from decoder.wire import connection as connection_module
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError, encode_reply, read_request
from decoder.wire.messages import PROTOCOL, BufferOpened, Cancel, Hello, Refused, Status, Welcome
from tests.fakes import ScriptedDecoder


@asynccontextmanager
async def listener(endpoint: Endpoint, said: bytes, *, stays: bool = False) -> AsyncIterator[None]:
    """Something at the endpoint that says this to everyone, and hangs up unless it stays."""
    writers = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await read_request(reader)
        writer.write(said)
        if not stays:
            writer.close()

    server = await asyncio.start_unix_server(converse, endpoint.socket_path)
    try:
        yield
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


async def test_shaking_hands_tells_both_who_the_other_is(endpoint: Endpoint) -> None:
    async with ScriptedDecoder(endpoint, welcome=Welcome("0.1.0", pid=7, busy=True)) as decoder:
        connection = await connect(endpoint, client="an editor", version="0.1.0")
        assert connection.welcome == Welcome("0.1.0", pid=7, busy=True)
        assert decoder.of(Hello) == [Hello("0.1.0", "an editor")]
        await connection.close()


async def test_without_a_decoder_the_caller_learns_that_it_is_absent(endpoint: Endpoint) -> None:
    with pytest.raises(FileNotFoundError):
        await connect(endpoint, client="test", version="0.1.0")
    with pytest.raises(ConnectionRefusedError):
        await connect(Endpoint(endpoint.directory, tcp=True), client="test", version="0.1.0")


async def test_a_refusal_is_passed_on_as_it_was_said(endpoint: Endpoint) -> None:
    async with listener(endpoint, encode_reply(Refused("not you"))):
        with pytest.raises(WireError, match=r"^not you$"):
            await connect(endpoint, client="test", version="0.1.0")


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", encode_reply(Status("ready", "x")), b"\0\0"])
async def test_something_else_that_listens_there_is_an_error(endpoint: Endpoint, said: bytes) -> None:
    async with listener(endpoint, said):
        with pytest.raises(WireError):
            await connect(endpoint, client="test", version="0.1.0")


async def test_a_decoder_that_hangs_up_during_the_handshake_counts_as_absent(endpoint: Endpoint) -> None:
    async with listener(endpoint, b""):
        with pytest.raises(ConnectionError):
            await connect(endpoint, client="test", version="0.1.0")


async def test_a_decoder_that_says_nothing_is_given_up(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HANDSHAKE_SECONDS", 0.1)
    async with listener(endpoint, b"", stays=True):
        with pytest.raises(WireError, match=r"nothing answered .* run `draftline stop`"):
            await connect(endpoint, client="test", version="0.1.0")


async def test_another_protocol_is_accepted_only_by_who_asks_for_it(endpoint: Endpoint) -> None:
    async with ScriptedDecoder(endpoint, welcome=Welcome("9", pid=1, busy=False, protocol=PROTOCOL + 1)):
        with pytest.raises(WireError, match="run `draftline stop` and try again"):
            await connect(endpoint, client="test", version="0.1.0")
        connection = await connect(endpoint, client="test", version="0.1.0", any_protocol=True)
        await connection.close()


async def test_a_decoder_that_goes_away_ends_the_conversation_without_an_error(endpoint: Endpoint) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        connection = await connect(endpoint, client="test", version="0.1.0")
        await decoder.crash()
        assert await connection.receive() is None
        await connection.close()
        with pytest.raises(ConnectionResetError, match="the decoder closed the connection"):
            connection.send(Cancel(1))


async def test_a_decoder_that_reads_nothing_does_not_keep_us(endpoint: Endpoint) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        connection = await connect(endpoint, client="test", version="0.1.0")
        decoder.reading.clear()
        connection.send(BufferOpened("x", "", 1, "x" * 8_000_000))
        connection.send(BufferOpened("x", "", 1, "x" * 8_000_000))
        assert connection.queued_bytes > 1_000_000
        async with asyncio.timeout(2):
            await connection.abort()
