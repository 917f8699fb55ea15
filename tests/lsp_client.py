"""A raw LSP client over real pipes: it shares no code with the server, so it sees what an editor sees."""

import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SERVE: Sequence[str] = (sys.executable, "-m", "lsp_server", "serve")
PATIENCE_SECONDS = 10.0


class LspError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]


@contextmanager
def private_environment() -> Iterator[dict[str, str]]:
    """An environment with directories of its own, so that no decoder, log or setting of the user is touched."""
    with tempfile.TemporaryDirectory(prefix="dl-", dir="/tmp") as folder:  # short: a socket's path is limited
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("DRAFTLINE_", "PYTHON"))
        }
        for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME"):
            environment[name] = folder
        environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
        yield environment


class LspClient:
    """One server process and the conversation with it. Every response is kept, by id, to count them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self.responses: dict[Any, list[dict[str, Any]]] = {}
        self.notifications: list[dict[str, Any]] = []
        self.noise = b""
        """Bytes on the server's standard output that are no frame."""
        self.errors = b""
        """The server's standard error, complete once it has ended."""
        self._ids = itertools.count(1)
        self._news = asyncio.Condition()
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]

    @staticmethod
    async def start(environment: Mapping[str, str], command: Sequence[str] = SERVE) -> "LspClient":
        """Starts the server; call `stop` in the end."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        return LspClient(process)

    async def stop(self) -> int:
        """Ends the process if it has not ended; its exit code."""
        self.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                code = await self.process.wait()
        except TimeoutError:
            self.process.kill()
            code = await self.process.wait()
        await asyncio.gather(*self._readers)
        return code

    async def initialize(self, encoding: str = "utf-16", options: Any = None) -> dict[str, Any]:
        """Shakes hands; the server's capabilities."""
        parameters = {
            "processId": os.getpid(),
            "clientInfo": {"name": "raw client"},
            "rootUri": None,
            "capabilities": {"general": {"positionEncodings": [encoding]}, "textDocument": {"inlineCompletion": {}}},
            "initializationOptions": options,
        }
        capabilities: dict[str, Any] = (await self.request("initialize", parameters))["capabilities"]
        self.notify("initialized", {})
        return capabilities

    async def shutdown(self) -> int:
        """Takes leave as LSP asks; the exit code."""
        await self.request("shutdown")
        self.notify("exit")
        return await self.stop()

    def open(self, uri: str, text: str, *, language: str = "python") -> None:
        """Opens a document at version 1."""
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}},
        )

    def insert(self, uri: str, version: int, line: int, character: int, text: str) -> None:
        """Types `text` into a document."""
        position = {"line": line, "character": character}
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"range": {"start": position, "end": position}, "text": text}],
            },
        )

    def ask(self, uri: str, line: int, character: int) -> int:
        """Sends a completion request; its id."""
        return self.send_request(
            "textDocument/inlineCompletion",
            {
                "textDocument": {"uri": uri},
                "position": {"line": line, "character": character},
                "context": {"triggerKind": 2},
            },
        )

    async def complete(self, uri: str, line: int, character: int) -> dict[str, Any] | None:
        """The one item at a place, or None."""
        result = await self.result(self.ask(uri, line, character))
        items = [] if result is None else result["items"]
        assert len(items) <= 1
        return items[0] if items else None

    async def request(self, method: str, params: Any = None) -> Any:
        """The result. Raises LspError."""
        return await self.result(self.send_request(method, params))

    def send_request(self, method: str, params: Any = None) -> int:
        """Sends a request without waiting; its id."""
        id = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def notify(self, method: str, params: Any = None) -> None:
        """Sends a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Any) -> None:
        """Sends any JSON in a frame."""
        self.send_bytes(frame(json.dumps(message).encode()))

    def send_bytes(self, data: bytes) -> None:
        """Sends anything."""
        self.stdin.write(data)

    async def response(self, id: Any, *, number: int = 0) -> dict[str, Any]:
        """The response to a request, as it came."""
        await self._until(lambda: len(self.responses.get(id, [])) > number)
        return self.responses[id][number]

    async def result(self, id: Any) -> Any:
        """The result of a request. Raises LspError."""
        response = await self.response(id)
        if "error" in response:
            raise LspError(response["error"])
        return response["result"]

    async def notification(self, method: str, *, number: int = 0, patience: float = PATIENCE_SECONDS) -> Any:
        """The parameters of the server's notification `number` of this method."""
        await self._until(lambda: len(self.all_of(method)) > number, patience)
        return self.all_of(method)[number]

    async def status(self, number: int, patience: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """The decoder's status `number` that the server told."""
        status: dict[str, Any] = await self.notification("draftline/status", number=number, patience=patience)
        return status

    def all_of(self, method: str) -> list[Any]:
        """The parameters of all notifications of this method so far."""
        return [message["params"] for message in self.notifications if message["method"] == method]

    async def _until(self, is_true: Callable[[], bool], patience: float = PATIENCE_SECONDS) -> None:
        async with asyncio.timeout(patience), self._news:
            await self._news.wait_for(is_true)

    async def _read(self) -> None:
        while header := await self._stdout.readline():
            if not header.startswith(b"Content-Length: "):
                self.noise += header
                continue
            while (await self._stdout.readline()).strip():
                pass
            await self._take(json.loads(await self._stdout.readexactly(int(header.split()[1]))))

    async def _take(self, message: dict[str, Any]) -> None:
        async with self._news:
            if "method" in message:
                self.notifications.append(message)
            else:
                self.responses.setdefault(message["id"], []).append(message)
            self._news.notify_all()

    async def _read_errors(self) -> None:
        while data := await self._stderr.read(4096):
            self.errors += data


def frame(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
