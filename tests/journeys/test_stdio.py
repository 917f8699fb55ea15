"""A model library that prints while it loads, and a decoder that crashes: neither reaches the editor's stream."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from decoder import version
from decoder.buffers import Buffers
from decoder.engine import Engine
from decoder.service import Service
from decoder.telemetry import TelemetryLog
from decoder.wire import launch
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.frames import WireError
from tests.fakes import ScriptedEngine
from tests.lsp_client import LspClient, private_environment

A = "file:///project/a.py"

NOISE = ("printed by Python", "written to file 1", "printed by C", "echoed by a child", "told on stderr")

SERVE = """
import sys
from decoder.wire import launch
from lsp_server.serve import serve
code = "from tests.journeys.test_stdio import run_noisy_decoder; run_noisy_decoder()"
launch.connect_or_start.__kwdefaults__["command"] = [sys.executable, "-c", code]
sys.exit(serve([]))
"""


def run_noisy_decoder() -> None:
    """A decoder process whose model library writes to every stream it finds while it loads."""

    async def load(progress: Callable[[str], None]) -> Engine:
        make_noise()
        progress("loading tiny: 50 %")
        make_noise()
        return ScriptedEngine("x = 1")

    async def serve() -> None:
        endpoint = Endpoint.default()
        telemetry = TelemetryLog.open(endpoint.directory / "telemetry")
        service = Service(endpoint, load, Buffers(), telemetry, version=version())
        asyncio.get_running_loop().call_later(60, service.stop)  # a killed test leaves nothing behind for long
        await service.run()

    asyncio.run(serve())


def make_noise() -> None:
    import ctypes

    print("printed by Python", flush=True)
    os.write(1, b"written to file 1\r")  # as a progress bar does: no end of line
    c = ctypes.CDLL(None)
    c.printf(b"printed by C\n")
    c.fflush(None)
    os.system("echo echoed by a child")
    print("told on stderr", file=sys.stderr, flush=True)


def left_in(environment: dict[str, str], name: str) -> str:
    """The text of the one file of this name in the user's directories."""
    (file,) = set(Path(environment["XDG_STATE_HOME"]).rglob(name))
    return file.read_text(encoding="utf-8")


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with private_environment() as environment:
        yield environment


@pytest.fixture
async def client(environment: dict[str, str]) -> AsyncIterator[LspClient]:
    """A client whose server starts the noisy decoder."""
    endpoint = Endpoint(private_directory(Path(environment["XDG_RUNTIME_DIR"]) / "draftline"), tcp=False)
    client = await LspClient.start(environment, (sys.executable, "-c", SERVE))
    yield client
    await client.stop()
    with suppress(OSError, WireError):
        await launch.stop(await connect(endpoint, client="test", version=version()), endpoint)
    assert client.noise == b"", "every byte on standard output belongs to a frame"
    assert all(len(responses) == 1 for responses in client.responses.values())


async def until_ready(client: LspClient, times: int = 1) -> list[str]:
    """The states that were told until the decoder was ready so many times."""
    states: list[str] = []
    while states.count("ready") < times:
        states.append((await client.status(len(states), 30))["state"])
    return states


async def test_what_a_model_library_prints_goes_into_a_file(client: LspClient, environment: dict[str, str]) -> None:
    await client.initialize()
    await until_ready(client)
    client.open(A, "")
    item = await client.complete(A, 0, 0)
    assert item is not None
    assert item["insertText"] == "x = 1"
    said = left_in(environment, "decoder.stderr")
    assert {noise: said.count(noise) for noise in NOISE} == dict.fromkeys(NOISE, 2)
    assert await client.shutdown() == 0
    assert client.errors == b""


async def test_a_decoder_that_crashes_is_started_again(client: LspClient, environment: dict[str, str]) -> None:
    await client.initialize()
    num_told = len(await until_ready(client))
    client.open(A, "")
    crashed = int(left_in(environment, "decoder.pid"))
    os.kill(crashed, signal.SIGKILL)
    assert (await client.status(num_told))["state"] == "error", "the crash is told"
    assert await client.complete(A, 0, 0) is None, "the first request only starts it"
    await until_ready(client, times=2)
    assert await client.complete(A, 0, 0) is not None
    assert int(left_in(environment, "decoder.pid")) != crashed
    assert await client.shutdown() == 0
