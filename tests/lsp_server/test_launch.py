"""Which decoder is used when one runs already, and how one is started."""

import asyncio
import doctest
import sys

import pytest
from filelock import FileLock

from decoder.wire import compatibility, launch
from decoder.wire.connection import Connection
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.messages import PROTOCOL, Hello, Stop, Welcome
from tests.fakes import ScriptedDecoder


async def join(endpoint: Endpoint, version: str) -> Connection:
    command = (sys.executable, "-c", "import tests.fakes; tests.fakes.run_scripted_decoder()")
    return await launch.connect_or_start(endpoint, client="test", version=version, command=command)


async def leave(connection: Connection, endpoint: Endpoint) -> None:
    await launch.stop(connection, endpoint)


async def test_without_a_decoder_one_is_started_for_all_who_ask(endpoint: Endpoint) -> None:
    connections = await asyncio.gather(*[join(endpoint, "0.2.0") for _ in range(3)])
    assert len({connection.welcome.pid for connection in connections}) == 1
    for connection in connections[1:]:
        await connection.close()
    await leave(connections[0], endpoint)


async def test_an_older_idle_decoder_is_replaced(endpoint: Endpoint) -> None:
    async with ScriptedDecoder(endpoint, welcome=Welcome("0.1.9", pid=1, busy=False)) as old:
        connection = await join(endpoint, "0.2.0")
        assert connection.welcome.version == "0.2.0"
        assert old.of(Stop)
        await leave(connection, endpoint)


@pytest.mark.parametrize(
    ("welcome", "ours"),
    [
        (Welcome("0.1.9", pid=1, busy=True), "0.2.0"),
        (Welcome("0.2.0", pid=1, busy=False), "0.2.0"),
        (Welcome("0.10.0", pid=1, busy=False), "0.9.0"),
    ],
)
async def test_any_decoder_of_our_protocol_that_is_not_to_be_replaced_is_used(
    endpoint: Endpoint, welcome: Welcome, ours: str
) -> None:
    async with ScriptedDecoder(endpoint, welcome=welcome) as decoder:
        connection = await join(endpoint, ours)
        assert connection.welcome == welcome
        assert not decoder.of(Stop)
        await connection.close()


@pytest.mark.parametrize(
    ("welcome", "remedy"),
    [
        (Welcome("0.1.0", pid=1, busy=True, protocol=PROTOCOL + 1), "close them or run `draftline stop`"),
        (Welcome("9.0.0", pid=1, busy=False, protocol=PROTOCOL + 1), "update this draftline"),
    ],
)
async def test_a_decoder_of_another_protocol_that_cannot_be_replaced_is_explained(
    endpoint: Endpoint, welcome: Welcome, remedy: str
) -> None:
    async with ScriptedDecoder(endpoint, welcome=welcome) as decoder:
        with pytest.raises(WireError, match=remedy):
            await join(endpoint, "0.2.0")
        assert {type(message) for message in decoder.received} == {Hello}


def test_an_older_idle_decoder_is_replaced_whatever_its_protocol() -> None:
    assert compatibility.must_replace(Welcome("0.1.0", pid=1, busy=False, protocol=PROTOCOL + 7), "0.2.0")
    assert doctest.testmod(compatibility).failed == 0


async def test_a_decoder_that_cannot_start_is_explained_with_its_last_words(endpoint: Endpoint) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no such model')")
    with pytest.raises(WireError, match="no such model"):
        await launch.connect_or_start(endpoint, client="test", version="0.1.0", command=command)


async def test_waiting_for_somebody_elses_start_can_be_cancelled_at_once(endpoint: Endpoint) -> None:
    with FileLock(endpoint.start_lock):
        task = asyncio.create_task(join(endpoint, "0.1.0"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(0.5):
                await task
