"""An editor over real pipes: it starts a server, speaks raw LSP, and notes when each reply came."""

import asyncio
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

READY_SECONDS = 180.0
LEAVE_SECONDS = 10.0


class EditorError(Exception):
    """The server ended or said nothing; the text has its last words."""


class Editor:
    """One server process and the conversation with it; a `replay.Server`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._ids = itertools.count(1)
        self._replies: dict[int, asyncio.Future[tuple[float, Mapping[str, Any]]]] = {}
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read())

    @staticmethod
    async def start(
        command: Sequence[str], environment: Mapping[str, str], *, client: str, options: Any = None
    ) -> "Editor":
        """Starts a server and shakes hands as the editor `client`, with its settings; call `leave` in the end."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=environment)
        editor = Editor(process)
        capabilities = {"general": {"positionEncodings": ["utf-16"]}, "textDocument": {"inlineCompletion": {}}}
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": client},
            "rootUri": None,
            "capabilities": capabilities,
            "initializationOptions": options,
        }
        await editor.reply(editor.request("initialize", params))
        editor.notify("initialized", {})
        return editor

    @property
    def server(self) -> int:
        """The id of the server's process."""
        return self._process.pid

    async def until_ready(self) -> None:
        """Waits for the decoder's model. Raises EditorError with what the server says instead."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._ready
        except TimeoutError as error:
            raise EditorError(f"the decoder was not ready after {READY_SECONDS:.0f} s") from error

    async def leave(self) -> None:
        """Takes leave as LSP asks; the process has ended then."""
        self.request("shutdown", None)
        self.notify("exit", None)
        self._stdin.close()
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reader

    def notify(self, method: str, params: Any) -> None:
        """As `replay.Server`."""
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> int:
        """As `replay.Server`."""
        id = next(self._ids)
        self._replies[id] = asyncio.get_running_loop().create_future()
        self._send({"id": id, "method": method, "params": params})
        return id

    async def reply(self, id: int) -> tuple[float, Mapping[str, Any]]:
        """As `replay.Server`. Raises EditorError where the server has ended."""
        return await asyncio.shield(self._replies[id])

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        while header := await self._stdout.readline():
            length = int(header.split()[1])
            while (await self._stdout.readline()).strip():
                pass
            self._take(asyncio.get_running_loop().time(), json.loads(await self._stdout.readexactly(length)))
        for waiting in self._replies.values():
            _fail(waiting)
        _fail(self._ready)

    def _take(self, at: float, message: dict[str, Any]) -> None:
        match message:
            case {"method": "draftline/status", "params": {"state": state, "message": text}}:
                self._status(state, text)
            case {"method": _, "id": id}:
                self._send({"id": id, "result": None})
            case {"id": id} if id in self._replies:
                self._replies[id].set_result((at, message))

    def _status(self, state: str, text: str) -> None:
        if state == "ready" and not self._ready.done():
            self._ready.set_result(None)
        elif state == "error" and not self._ready.done():
            self._ready.set_exception(EditorError(text))


def _fail(waiting: "asyncio.Future[Any]") -> None:
    if not waiting.done():
        waiting.set_exception(EditorError("the server has ended"))
        waiting.exception()  # nobody need wait for it
