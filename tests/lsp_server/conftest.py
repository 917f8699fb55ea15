"""Fixtures of the language server's tests."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.messages import Answer, Status
from tests.fakes import ScriptedDecoder
from tests.lsp_client import private_environment
from tests.lsp_server.editor import Editor


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """Where the decoder of a user of its own listens."""
    with private_environment() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield Endpoint(private_directory(Path(environment["XDG_RUNTIME_DIR"]) / "draftline"), tcp=False)


@pytest.fixture
async def editor(endpoint: Endpoint) -> AsyncIterator[Editor]:
    editor = Editor(endpoint)
    yield editor
    await editor.server.aclose()


@pytest.fixture
async def decoder(endpoint: Endpoint) -> AsyncIterator[ScriptedDecoder]:
    ready = Status("ready", "llama is ready", model="llama")
    async with ScriptedDecoder(endpoint, lambda request: Answer(request.id, "text"), status=ready) as decoder:
        yield decoder
