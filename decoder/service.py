"""The decoder's socket: one task a request, superseding and cancelling, status while loading, idle exit."""

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from filelock import FileLock, Timeout

from decoder.buffers import Buffers
from decoder.client import Client
from decoder.engine import Engine, EngineError
from decoder.loader import Loader
from decoder.reasons import ReasonRing
from decoder.telemetry import TelemetryLog
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError, encode_reply, read_request
from decoder.wire.messages import (
    PROTOCOL,
    Answer,
    BufferClosed,
    BufferEdited,
    BufferOpened,
    BufferWanted,
    Cancel,
    Complete,
    Feedback,
    Hello,
    ReasonsQuery,
    Refused,
    Reply,
    Request,
    Silence,
    Status,
    StatusQuery,
    Stop,
    Welcome,
)

HELLO_SECONDS = 10.0
LOCK_SECONDS = 0.5
"""`draftline stop` and `doctor` hold the owner lock for an instant, to see whether it is free."""

FAREWELL_SECONDS = 1.0
"""How long a client has to read its last answers when the decoder leaves."""

LEAVING = Status("paused", "the decoder has left; the next completion starts it again")
"""Its last words, where it leaves in good order."""

_log = logging.getLogger(__name__)


class AlreadyRunningError(Exception):
    """Another decoder of this user owns the endpoint."""


class Service:
    """Serves one endpoint until told to stop, or until idle for too long."""

    def __init__(
        self,
        endpoint: Endpoint,
        load: Callable[[Callable[[str], None]], Awaitable[Engine]],
        buffers: Buffers,
        telemetry: TelemetryLog,
        *,
        version: str,
        idle_exit_seconds: float = 0.0,
    ) -> None:
        """load: makes the engine, in the background, and tells what it is doing from any thread; raises EngineError
        with a remedy. idle_exit_seconds 0: never.
        """
        self._endpoint = endpoint
        self._buffers = buffers
        self._telemetry = telemetry
        self._version = version
        self._idle_exit_seconds = idle_exit_seconds
        self._loader = Loader(load, self._tell)
        self._reasons = ReasonRing()
        self._clients: set[Client] = set()
        self._conversations: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._num_clients = 0
        self._token = ""
        self._stopping = asyncio.Event()
        self._idle: asyncio.TimerHandle | None = None
        self._idle_since = time.monotonic()

    def stop(self) -> None:
        """Makes `run` finish: requests under way are answered as cancelled."""
        self._stopping.set()

    def trouble(self, text: str) -> None:
        """Tells the editors what keeps the engine from answering, and "" when it answers again; requests go on to it.

        Call it in the service's loop.
        """
        self._loader.trouble(text)

    async def run(self) -> None:
        """Listens until stopped. Raises AlreadyRunningError where another decoder owns the endpoint."""
        lock = FileLock(self._endpoint.owner_lock)
        try:
            lock.acquire(timeout=LOCK_SECONDS)
        except Timeout as error:
            raise AlreadyRunningError(f"a decoder is already running at {self._endpoint.directory}") from error
        try:
            self._endpoint.clear()
            self._endpoint.pid_path.write_text(str(os.getpid()), encoding="ascii")
            server = await self._listen()
            self._loader.begin()
            self._watch_idle()
            await self._stopping.wait()
            server.close()
            await self._finish()
        finally:
            self._endpoint.clear()
            lock.release()

    async def _listen(self) -> asyncio.Server:
        if self._endpoint.tcp:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            self._token = self._endpoint.write_address(server.sockets[0].getsockname()[1])
            return server
        server = await asyncio.start_unix_server(self._accept, self._endpoint.socket_path)
        self._endpoint.socket_path.chmod(0o600)
        return server

    async def _finish(self) -> None:
        self._loader.cancel()
        tasks = [task for client in self._clients for task in client.cancel_all("stopping")]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tell(LEAVING)
        await self._say_goodbye()
        if self._loader.engine:
            await self._loader.engine.aclose()

    async def _say_goodbye(self) -> None:
        """Ends all conversations; whoever does not read is not waited for."""
        conversations = dict(self._conversations)
        for conversation, writer in conversations.items():
            writer.close()
            conversation.cancel()
        if conversations:
            await asyncio.wait(conversations, timeout=FAREWELL_SECONDS)
        for writer in conversations.values():
            writer.transport.abort()
        await asyncio.gather(*conversations, return_exceptions=True)

    def _tell(self, status: Status) -> None:
        for client in self._clients:
            client.tell(status)

    # Clients

    def _watch_idle(self) -> None:
        """Minutes without an editor window count on while somebody comes to ask something."""
        if self._idle:
            self._idle.cancel()
            self._idle = None
        if not self._clients and self._idle_exit_seconds:
            left = self._idle_since + self._idle_exit_seconds - time.monotonic()
            self._idle = asyncio.get_running_loop().call_later(max(left, 0.0), self._leave_if_idle)

    def _leave_if_idle(self) -> None:
        if not self._clients:
            _log.info("no client for %.0f s: leaving", self._idle_exit_seconds)
            self.stop()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.current_task()
        assert conversation is not None
        self._conversations[conversation] = writer
        client: Client | None = None
        try:
            client = await self._greet(reader, writer)
            await self._converse(client, reader)
        except WireError as error:
            _log.warning("client refused: %s", error)
            with contextlib.suppress(ConnectionError, RuntimeError):
                writer.write(encode_reply(Refused(str(error))))
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            pass  # the client left, never spoke, or we are stopping: nobody is there to tell
        finally:
            self._conversations.pop(conversation, None)
            if client:
                self._part(client)
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Client:
        async with asyncio.timeout(HELLO_SECONDS):
            hello = await read_request(reader)
        if hello is None:
            raise ConnectionResetError
        if not isinstance(hello, Hello):
            raise WireError("the first message must be Hello")
        if not secrets.compare_digest(hello.token.encode(), self._token.encode()):
            raise WireError("the token does not match; is this decoder yours?")
        self._num_clients += 1
        client = Client(self._num_clients, writer, self._record, speaks_protocol=hello.protocol == PROTOCOL)
        client.send(Welcome(self._version, os.getpid(), busy=bool(self._clients)))
        self._clients.add(client)
        self._watch_idle()
        self._loader.retry()
        client.tell(self._loader.greeting)
        _log.info("client %d: %s %s", client.number, hello.client, hello.version)
        return client

    def _part(self, client: Client) -> None:
        self._clients.discard(client)
        client.cancel_all("client_gone")
        self._buffers.forget(client.owner)
        if not client.only_asks:
            self._idle_since = time.monotonic()
        self._watch_idle()

    async def _converse(self, client: Client, reader: asyncio.StreamReader) -> None:
        while (message := await read_request(reader)) is not None:
            client.note(message)
            if isinstance(message, Stop):
                _log.info("client %d asks to stop", client.number)
                self.stop()
            elif client.speaks_protocol:
                self._handle(client, message)
            else:
                raise WireError(f"this decoder speaks protocol {PROTOCOL}; run `draftline stop` and try again")

    def _handle(self, client: Client, message: Request) -> None:
        match message:
            case Complete():
                client.begin(message, self._answer)
            case Cancel():
                client.cancel(message.id, "cancelled")
            case BufferOpened() | BufferEdited() | BufferClosed():
                named = replace(message, document=client.owner + message.document)
                if not self._buffers.apply(named):
                    client.send(BufferWanted(message.document))
            case Feedback():
                self._telemetry.feedback(client.number, message)
            case Silence():
                self._reasons.add(message.document, message.language, message.reason)
            case ReasonsQuery() | StatusQuery():
                client.send(self._reply(message))
            case _:
                raise WireError(f"{type(message).__name__} is not expected here")

    def _reply(self, question: ReasonsQuery | StatusQuery) -> Reply:
        if isinstance(question, ReasonsQuery):
            return self._reasons.reasons(question.document)
        return self._loader.greeting

    # Requests

    def _record(self, client: Client, request: Complete, answer: Answer) -> None:
        if request.trigger == "warm_up":  # nobody has asked for a text
            return
        self._telemetry.answered(client.number, request, answer)
        if not answer.text:
            self._reasons.add(request.document, request.language, answer.reason)

    async def _answer(self, request: Complete) -> Answer:
        self._loader.retry()
        if self._loader.engine is None:
            return self._not_ready(request)
        try:
            return await self._loader.engine.complete(request)
        except EngineError as error:
            return Answer(request.id, language=request.language, reason=f"engine_error: {error}")
        except Exception as error:
            _log.exception("request %d failed", request.id)
            return Answer(request.id, language=request.language, reason=f"engine_error: {error!r}")

    def _not_ready(self, request: Complete) -> Answer:
        status = self._loader.status
        reason = "loading" if status.state == "loading" else f"engine_error: {status.message}"
        return Answer(request.id, language=request.language, reason=reason)
