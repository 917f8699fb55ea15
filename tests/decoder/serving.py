"""A `Service` over a real socket in this process, and clients of it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from decoder.buffers import Buffers
from decoder.engine import Engine
from decoder.service import Service
from decoder.telemetry import TelemetryLog
from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.messages import Answer, Complete, Reply, Status

PATIENCE_SECONDS = 10.0


@asynccontextmanager
async def serving(
    endpoint: Endpoint,
    engine: Engine | Callable[[], Awaitable[Engine]],
    *,
    buffers: Buffers | None = None,
    telemetry: TelemetryLog | None = None,
    **settings: Any,
) -> AsyncIterator[Service]:
    """A service that listens; stopped at the end, which must not take long."""

    async def load(_progress: Callable[[str], None]) -> Engine:
        return await engine() if callable(engine) else engine

    telemetry = telemetry or TelemetryLog.open(Path(endpoint.directory) / "telemetry")
    service = Service(endpoint, load, buffers or Buffers(), telemetry, version="0.1.0", **settings)
    running = asyncio.create_task(service.run())
    try:
        await _listening(endpoint, running)
        yield service
    finally:
        service.stop()
        async with asyncio.timeout(5):
            await running


async def _listening(endpoint: Endpoint, running: "asyncio.Task[None]") -> None:
    await until(lambda: running.done() or _answers(endpoint))
    if running.done():
        running.result()


def _answers(endpoint: Endpoint) -> bool:
    if endpoint.tcp:
        return endpoint.address_path.exists()
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(endpoint.socket_path)) == 0


@asynccontextmanager
async def client(endpoint: Endpoint, name: str = "test") -> AsyncIterator[Connection]:
    """A client that has shaken hands."""
    connection = await connect(endpoint, client=name, version="0.1.0")
    try:
        yield connection
    finally:
        await connection.abort()


def ask(id: int, document: str = "x.py", **changes: Any) -> Complete:
    return Complete(id, document, "python", "def f(", "", **changes)


async def received(connection: Connection) -> Reply:
    """The next reply; fails rather than wait for ever or find the connection closed."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        reply = await connection.receive()
    assert reply is not None, "the decoder hung up"
    return reply


async def answer(connection: Connection) -> Answer:
    """The next answer, whatever statuses come before it."""
    while not isinstance(reply := await received(connection), Answer):
        assert isinstance(reply, Status), reply
    return reply


async def ready(connection: Connection, state: str = "ready") -> Status:
    """The status in which the decoder is `state`."""
    while not isinstance(reply := await received(connection), Status) or reply.state != state:
        pass
    return reply


async def hung_up(connection: Connection) -> list[Reply]:
    """What was still said before the decoder closed the connection."""
    last = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (reply := await connection.receive()) is not None:
            last.append(reply)
    return last


async def until(condition: Callable[[], bool]) -> None:
    """Waits until it holds; fails rather than wait for ever."""
    for _ in range(int(PATIENCE_SECONDS * 1000)):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to hold")
