"""An editor that speaks to a server in this process."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from lsp_server.server import create_server

A = "file:///a.py"


class Editor:
    """Speaks to a server by calling it, and keeps what it says."""

    def __init__(self, endpoint: Endpoint) -> None:
        async def connector() -> Connection:
            if not endpoint.socket_path.exists():
                raise WireError("no decoder; run `draftline doctor`")
            return await connect(endpoint, client="test", version="0.1.0")

        self.server = create_server(connector)
        self.server.protocol.set_writer(self)
        self.server.protocol.on_exit = lambda code: self.exit_codes.append(code)
        self.exit_codes: list[int] = []
        self.said: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    async def _until(self, is_true: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not is_true():
                self._news.clear()
                await self._news.wait()

    def write(self, data: bytes) -> None:
        self.said.append(json.loads(data.partition(b"\r\n\r\n")[2]))
        self._news.set()

    def close(self) -> None:
        """Part of pygls' writer interface."""

    def say(self, **message: Any) -> None:
        self.server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def answers(self, id: Any) -> list[dict[str, Any]]:
        return [message for message in self.said if "method" not in message and message["id"] == id]

    async def answer(self, id: Any) -> dict[str, Any]:
        """The only answer to a request; a second one would come within the time that is waited."""
        await self._until(lambda: bool(self.answers(id)))
        await asyncio.sleep(0.01)
        (answer,) = self.answers(id)
        return answer

    async def code(self, id: Any) -> int:
        code: int = (await self.answer(id))["error"]["code"]
        return code

    def notifications(self, method: str) -> list[Any]:
        return [message["params"] for message in self.said if message.get("method") == method]

    async def begin(
        self, encoding: str = "utf-16", options: Any = None, capabilities: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Shakes hands; `capabilities` are those besides the encoding."""
        can = {"general": {"positionEncodings": [encoding]}} | (capabilities or {})
        params = {"processId": None, "rootUri": None, "capabilities": can, "initializationOptions": options}
        self.say(id="init", method="initialize", params=params)
        self.say(method="initialized", params={})
        result: dict[str, Any] = (await self.answer("init"))["result"]["capabilities"]
        return result

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The server's own requests of this method so far."""
        return [message for message in self.said if message.get("method") == method and "id" in message]

    async def question(self, method: str, number: int = 0) -> dict[str, Any]:
        """The server's own request `number` of this method; waits for it."""
        await self._until(lambda: len(self.asked(method)) > number)
        return self.asked(method)[number]

    async def notification(self, method: str, number: int = 0) -> Any:
        """The parameters of notification `number` of this method; waits for it."""
        await self._until(lambda: len(self.notifications(method)) > number)
        return self.notifications(method)[number]

    def settings(self, value: Any) -> None:
        """The editor says what the settings are now, or (null) that they have changed."""
        self.say(method="workspace/didChangeConfiguration", params={"settings": value})

    async def explained(self, command: str = "draftline.explain") -> dict[str, Any]:
        """What the command returns."""
        id = f"explain {len(self.said)}"
        self.say(id=id, method="workspace/executeCommand", params={"command": command})
        result: dict[str, Any] = (await self.answer(id))["result"]
        return result

    async def until_ready(self) -> None:
        await self._until(lambda: any(told["state"] == "ready" for told in self.notifications("draftline/status")))

    def open(self, text: str, language: str = "python", uri: str = A) -> None:
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.say(method="textDocument/didOpen", params={"textDocument": document})

    def exclude(self, *patterns: str) -> None:
        """Changes the setting while the server runs."""
        self.settings({"draftline": {"exclude": patterns}})

    def rename(self, uri: str, to: str, text: str) -> None:
        """As LSP has it: the old name is closed, the new one opened."""
        self.say(method="textDocument/didClose", params={"textDocument": {"uri": uri}})
        self.open(text, uri=to)

    def type(self, version: int, line: int, character: int, text: str, uri: str = A) -> None:
        position = {"line": line, "character": character}
        change = {"range": {"start": position, "end": position}, "text": text}
        self.say(
            method="textDocument/didChange",
            params={"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]},
        )

    def ask(self, id: Any, line: int, character: int, trigger: int = 2, uri: str = A) -> None:
        position = {"line": line, "character": character}
        self.say(
            id=id,
            method="textDocument/inlineCompletion",
            params={"textDocument": {"uri": uri}, "position": position, "context": {"triggerKind": trigger}},
        )

    async def item(self, id: Any) -> dict[str, Any]:
        (item,) = (await self.answer(id))["result"]["items"]
        assert isinstance(item, dict)
        return item
