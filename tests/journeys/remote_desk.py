"""One user whose decoder is told by a config file to write with a scripted server: real processes, private folders."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from decoder import version
from decoder.wire import launch
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.frames import WireError
from tests.decoder.test_completion_cases import Case
from tests.lsp_client import LspClient, private_environment


@dataclass(slots=True)
class Desk:
    """environment: of everything that is started here; its folders, and the config file, are below `home`."""

    environment: dict[str, str]
    home: Path
    clients: list[LspClient] = field(default_factory=list)

    def configure(self, url: str, **more: str) -> None:
        """Writes the config file for a server at an address."""
        table = {"kind": "remote", "base_url": url, "model": "NAME", "prompt_family": "prefix", **more}
        self.write_config("\n".join(["[engine]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]))

    def write_config(self, text: str) -> None:
        """Writes anything into the config file."""
        (self.home / "own.toml").write_text(text, encoding="utf-8")

    @asynccontextmanager
    async def window(self, *, encoding: str = "utf-16", options: Any = None, **more: str) -> AsyncIterator[LspClient]:
        """An editor window that shakes hands, and takes leave. more: of its environment."""
        client = await LspClient.start({**self.environment, **more})
        self.clients.append(client)
        await client.initialize(encoding, options)
        yield client
        assert await client.shutdown() == 0
        assert client.noise == b"", "nothing but frames on standard output"
        assert client.errors == b""

    def everything(self) -> bytes:
        """All that the windows were told, and all files in the user's folders: logs, telemetry."""
        told = json.dumps([[client.notifications, client.responses] for client in self.clients])
        files = [path.read_bytes() for path in sorted(self.home.rglob("*")) if path.is_file()]
        return b"\n".join([told.encode(), *files])

    async def stop_decoder(self) -> None:
        """Ends the decoder that a window has started."""
        endpoint = Endpoint(private_directory(Path(self.environment["XDG_RUNTIME_DIR"]) / "draftline"), tcp=False)
        with suppress(OSError, WireError):
            await launch.stop(await connect(endpoint, client="test", version=version()), endpoint)


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    """A desk whose decoder ends with it."""
    with private_environment() as environment:
        made = Desk(environment, Path(environment["HOME"]))
        environment["DRAFTLINE_CONFIG"] = str(made.home / "own.toml")
        try:
            yield made
        finally:
            await made.stop_decoder()


async def until(client: LspClient, state: str, *, number: int = 0) -> dict[str, Any]:
    """The first status of a state, from that number on."""
    while (status := await client.status(number))["state"] != state:
        number += 1
    return status


@dataclass(slots=True)
class Page:
    """A document that an editor has open."""

    client: LspClient
    uri: str
    text: str

    @staticmethod
    def opened(client: LspClient, uri: str, marked: str, language: str) -> "tuple[Page, int, int]":
        """The page, and where the mark in it was: line and column in UTF-16."""
        before, _, after = marked.partition("▮")
        client.open(uri, before + after, language=language)
        lines = before.replace("\r\n", "\n").split("\n")
        return Page(client, uri, before + after), len(lines) - 1, utf16(lines[-1])

    def applied(self, item: Mapping[str, Any] | None) -> str:
        """The text once an item is taken."""
        if item is None:
            return self.text
        start, end = (self._offset(item["range"][edge]) for edge in ("start", "end"))
        return self.text[:start] + str(item["insertText"]) + self.text[end:]

    def _offset(self, position: Mapping[str, int]) -> int:
        lines = self.text.split("\n")
        line = lines[position["line"]].encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le")
        return sum(len(line) + 1 for line in lines[: position["line"]]) + len(line)


def utf16(text: str) -> int:
    """How many units a text has."""
    return len(text.encode("utf-16-le")) // 2


async def ask(client: LspClient, uri: str, line: int, character: int, *, invoked: bool = False, **context: Any) -> Any:
    """The items at a place."""
    result = await client.request(
        "textDocument/inlineCompletion",
        {
            "textDocument": {"uri": uri},
            "position": {"line": line, "character": character},
            "context": {"triggerKind": 1 if invoked else 2, **context},
        },
    )
    return result["items"]


async def taken(client: LspClient, case: Case, uri: str, **context: Any) -> str:
    """The document of a case once the first item is taken, if there is one; with LF."""
    page, *place = Page.opened(client, uri, case.document, case.language)
    items = await ask(client, uri, *place, invoked=case.trigger == "invoked", **context)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return page.applied(items[0] if items else None).replace("\r\n", "\n")
