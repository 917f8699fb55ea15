"""A `RemoteEngine` over a scripted server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from decoder.prompt import TextPromptBuilder
from decoder.prompt_families import family_named
from decoder.remote.client import CompletionsClient
from decoder.remote.settings import RemoteSettings
from decoder.remote_engine import RemoteEngine
from decoder.wire.messages import Answer, Complete
from tests.decoder.scripted_server import Reply, Script, ScriptedServer, scripted_server

BLOCK = "def area(self):\n"
BODY = "    width = self.width\n    return width * self.height\n"
NEXT = "\ndef name(self):\n"


@asynccontextmanager
async def remote(
    script: Script | Reply, *, family: str = "prefix", settings: dict[str, Any] | None = None, **changes: Any
) -> AsyncIterator[tuple[RemoteEngine, ScriptedServer]]:
    """An engine and its server."""
    async with scripted_server(script) as server:
        client = CompletionsClient(RemoteSettings(server.url, "NAME", family, **(settings or {})), {})
        prompts = TextPromptBuilder(characters=6000, family=family_named(family))
        engine = RemoteEngine(client, prompts, **changes)
        try:
            yield engine, server
        finally:
            async with asyncio.timeout(5):
                await engine.aclose()


def ask(prefix: str, suffix: str = "", *, id: int = 1, **changes: Any) -> Complete:
    return Complete(id, "1:x.py", "python", prefix, suffix, **changes)


async def answer_of(script: Script | Reply, request: Complete, **changes: Any) -> Answer:
    async with remote(script, **changes) as (engine, _):
        return await engine.complete(request)


async def gone(server: ScriptedServer, number: int) -> bool:
    async with asyncio.timeout(2):
        return await server.asked[number - 1].gone.wait()
