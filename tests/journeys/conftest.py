"""A desk, and the server that writes for it."""

from collections.abc import AsyncIterator

import pytest

from tests.decoder.scripted_server import ScriptedServer, scripted_server, writing
from tests.journeys.remote_desk import Desk, desk


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with scripted_server(writing("")) as server:
        yield server


@pytest.fixture
async def office(server: ScriptedServer) -> AsyncIterator[Desk]:
    async with desk() as made:
        made.configure(server.url)
        yield made
