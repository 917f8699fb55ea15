"""A completions server at a real port, which does what a test says: it streams, breaks off, refuses or keeps silent."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Step = str | bytes | asyncio.Event | None
"""A text is an event of the stream; bytes are sent as they are; an event is waited for; None breaks off."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came. gone: is set when the client has hung up."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    gone: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered: a head, and then the steps, one after the other.

    headers: CRLF-ended lines. silent: nothing is ever answered. is_chunked: else the end of the connection is that of
    the answer, as in HTTP/1.0.
    """

    steps: tuple[Step, ...] = ()
    status: int = 200
    kind: str = "text/event-stream"
    headers: str = ""
    silent: bool = False
    is_chunked: bool = True


Script = Callable[[Asked], Reply]


class ScriptedServer:
    """Answers each request as `script` says, and remembers it."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.url = ""
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def wait_for(self, number: int) -> Asked:
        """The request of that number, counted from 1, once it has come."""
        async with asyncio.timeout(10):
            while len(self.asked) < number:
                self._news.clear()
                await self._news.wait()
        return self.asked[number - 1]

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, for one request."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            asked = await _read(reader)
            self.asked.append(asked)
            self._news.set()
            await _until_gone(self._reply(asked, writer), asked, reader)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _reply(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        reply = self.script(asked)
        if reply.silent:
            await asyncio.Event().wait()
        version, coding = ("1.1", "Transfer-Encoding: chunked\r\n") if reply.is_chunked else ("1.0", "")
        head = f"HTTP/{version} {reply.status} said\r\nContent-Type: {reply.kind}\r\n{reply.headers}{coding}"
        writer.write(f"{head}Connection: close\r\n\r\n".encode())
        for step in reply.steps:
            if step is None:
                return
            if isinstance(step, asyncio.Event):
                await step.wait()
                continue
            data = step if isinstance(step, bytes) else event(step)
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n" if reply.is_chunked else data)
            await writer.drain()
        writer.write(b"0\r\n\r\n" if reply.is_chunked else b"")
        await writer.drain()

    async def close(self) -> None:
        """Hangs up on everybody."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def scripted_server(
    script: Script | Reply, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[ScriptedServer]:
    """One that listens on a port of its own."""
    made = ScriptedServer(script if callable(script) else always(script))
    server = await asyncio.start_server(made.converse, "127.0.0.1", 0, ssl=tls)
    address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    made.url = f"https://{address.replace('127.0.0.1', 'localhost')}/v1" if tls else f"http://{address}/v1"
    try:
        yield made
    finally:
        server.close()
        await made.close()


def always(reply: Reply) -> Script:
    """The same answer to everybody."""
    return lambda _asked: reply


def event(text: str = "", **more: Any) -> bytes:
    """One event of a stream. more: of the choice, as `finish_reason`."""
    return f"data: {json.dumps({'choices': [{'index': 0, 'text': text, **more}]})}\n\n".encode()


def writing(text: str, *, size: int = 3, finish: str = "stop") -> Reply:
    """A whole stream: the text in pieces of `size` characters, why it ends, and the mark of the end."""
    pieces = [text[begin : begin + size] for begin in range(0, len(text), size)]
    return Reply((*pieces, event(finish_reason=finish), b"data: [DONE]\n\n"))


def whole(text: str, *, indent: int | None = None, size: int = 4096, is_chunked: bool = True) -> Reply:
    """One object, as a server answers that does not stream; in pieces of `size` bytes."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": "stop"}
    body = json.dumps({"id": "1", "object": "text_completion", "choices": [choice], "usage": None}, indent=indent)
    steps = tuple(body.encode()[begin : begin + size] for begin in range(0, len(body.encode()), size))
    return Reply(steps, kind="application/json", is_chunked=is_chunked)


def refusing(status: int, message: str = "", headers: str = "") -> Reply:
    """An error in the servers' usual form."""
    body = json.dumps({"error": {"message": message}}).encode()
    return Reply((body,), status, "application/json", headers)


def listing(*models: dict[str, Any]) -> Reply:
    """What `/models` answers."""
    return Reply((json.dumps({"object": "list", "data": list(models)}).encode(),), kind="application/json")


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, json.loads(body or b"{}"))


async def _until_gone(reply: Coroutine[Any, Any, None], asked: Asked, reader: asyncio.StreamReader) -> None:
    """Nobody goes on writing to a client that has hung up."""
    work, gone = asyncio.create_task(reply), asyncio.create_task(reader.read())
    gone.add_done_callback(lambda _: asked.gone.set())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            await work
    finally:
        work.cancel()
        gone.cancel()
        await asyncio.gather(work, gone, return_exceptions=True)
