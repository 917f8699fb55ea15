"""The real `draftline serve` over real pipes, with a decoder on a real socket: what an editor of any kind relies on."""

import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from decoder import version
from decoder.wire import launch
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.frames import WireError
from decoder.wire.messages import Answer, BufferEdited, BufferOpened, Cancel, Complete, Feedback, Status
from tests.fakes import ScriptedDecoder
from tests.lsp_client import SERVE, LspClient, frame, private_environment

A, B = "file:///project/a.py", "file:///project/%C3%A9.ts"
READY = Status("ready", "llama is ready", model="llama")

NOISY_START = """
import atexit, os, threading
print("printed at start")
threading.Timer(0.2, lambda: os.write(1, b"written to file 1\\n")).start()
threading.Timer(0.2, lambda: print("printed later", flush=True)).start()
threading.Timer(0.2, lambda: os.system("echo echoed by a child")).start()
atexit.register(print, "printed at the end")
"""


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with private_environment() as environment:
        yield environment


@pytest.fixture
def endpoint(environment: dict[str, str]) -> Endpoint:
    return Endpoint(private_directory(Path(environment["XDG_RUNTIME_DIR"]) / "draftline"), tcp=False)


@pytest.fixture
async def decoder(endpoint: Endpoint) -> AsyncIterator[ScriptedDecoder]:
    async with ScriptedDecoder(endpoint, lambda request: Answer(request.id, "x = 1\ny"), status=READY) as decoder:
        yield decoder


@pytest.fixture
async def client(environment: dict[str, str], decoder: ScriptedDecoder) -> AsyncIterator[LspClient]:
    """A client whose server finds the decoder running."""
    assert not decoder.received
    client = await LspClient.start(environment)
    yield client
    await client.stop()
    assert client.noise == b""
    assert all(len(responses) == 1 for id, responses in client.responses.items() if id is not None)


async def until_ready(client: LspClient, *, times: int = 1, patience: float = 10) -> None:
    """Until the decoder has said so this many times: once for each connection."""
    number = num_ready = 0
    while num_ready < times:
        num_ready += (await client.status(number, patience))["state"] == "ready"
        number += 1


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 10), ("utf-16", 6), ("utf-32", 5)])
async def test_a_session_in_each_position_encoding(
    client: LspClient, decoder: ScriptedDecoder, encoding: str, character: int
) -> None:
    assert (await client.initialize(encoding))["positionEncoding"] == encoding
    await until_ready(client)
    client.open(A, "# crlf\r\n😀漢 = )\r\n")
    item = await client.complete(A, 1, character)
    position = {"line": 1, "character": character}
    assert item is not None
    assert (item["insertText"], item["range"]) == ("x = 1\r\ny", {"start": position, "end": position})
    asked = [message.prefix for message in decoder.of(Complete) if message.trigger == "automatic"]
    assert asked == ["# crlf\r\n😀漢 = "]

    client.insert(A, 2, 1, character, "é")
    assert (await decoder.next(BufferEdited)).edits[0].start_column == 5
    await client.request("workspace/executeCommand", {key: item["command"][key] for key in ("command", "arguments")})
    assert await decoder.next(Feedback) == Feedback(item["command"]["arguments"][0], "accepted")
    assert await client.shutdown() == 0
    assert client.errors == b""


async def test_superseding_and_cancelling(client: LspClient, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await client.initialize()
    await until_ready(client)
    client.open(A, "")
    client.open(B, "", language="typescript")
    first, other = client.ask(A, 0, 0), client.ask(B, 0, 0)
    asked = {(await decoder.next(Complete)).document for _ in range(2)}
    assert asked == {A, B}
    newer = client.ask(A, 0, 0)
    assert await client.result(first) is None
    client.notify("$/cancelRequest", {"id": newer})
    client.notify("$/cancelRequest", {"id": newer})
    assert (await client.response(newer))["error"]["code"] == -32800
    request = next(message for message in decoder.of(Complete) if message.document == B)
    decoder.send(Answer(request.id, "for b"))
    assert (await client.result(other))["items"][0]["insertText"] == "for b"
    assert len(decoder.of(Cancel)) == 2
    assert await client.shutdown() == 0


async def test_a_decoder_killed_in_the_middle_costs_one_answer(
    client: LspClient, decoder: ScriptedDecoder, endpoint: Endpoint
) -> None:
    decoder.reply = lambda _request: None
    await client.initialize()
    await until_ready(client)
    client.open(A, "first")
    waiting = client.ask(A, 0, 5)
    await decoder.next(Complete)
    await decoder.crash()
    assert await client.result(waiting) == {"items": []}
    client.insert(A, 2, 0, 5, " while it is away")
    async with ScriptedDecoder(endpoint, lambda request: Answer(request.id, "again"), status=READY) as successor:
        assert await client.complete(A, 0, 22) is None, "the first request only starts the connection"
        await until_ready(client, times=2)
        item = await client.complete(A, 0, 22)
        assert item is not None
        assert item["insertText"] == "again"
        assert (await successor.next(BufferOpened)).text == "first while it is away"
        assert await client.shutdown() == 0


async def test_garbage_of_every_kind_is_answered_and_survived(client: LspClient) -> None:
    client.send({"jsonrpc": "2.0", "id": "early", "method": "textDocument/hover", "params": {}})
    assert (await client.response("early"))["error"]["code"] == -32002
    await client.initialize()
    await until_ready(client)
    client.open(A, "")
    garbage = [
        frame(b"{not json"),
        frame(b"\xff\xfe"),
        frame(b"[]"),
        b"Content-Length: lots\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"X-Header: " + b"x" * 100_000 + b"\r\n\r\n",
        b"Content-Length: 3\r\n\r\n" + json.dumps({"jsonrpc": "2.0", "id": 1000, "method": "x"}).encode(),
    ]
    for number, data in enumerate(garbage):
        client.send_bytes(data)
        item = await client.complete(A, 0, 0)
        assert item is not None, data[:40]
        assert (await client.response(None, number=number))["error"]["code"] in (-32700, -32600)
    with pytest.raises(Exception, match="hover"):
        await client.request("textDocument/hover", {})
    assert await client.shutdown() == 0
    assert b"Traceback" not in client.errors


async def test_after_shutdown_requests_are_refused_and_exit_ends_with_0(client: LspClient) -> None:
    await client.initialize()
    await client.request("shutdown")
    late = client.ask(A, 0, 0)
    assert (await client.response(late))["error"]["code"] == -32600
    client.notify("exit")
    assert await client.process.wait() == 0


@pytest.mark.parametrize("initialized", [True, False])
async def test_exit_without_shutdown_and_the_end_of_input_end_with_1(client: LspClient, initialized: bool) -> None:
    if initialized:
        await client.initialize()
        client.notify("exit")
    else:
        client.stdin.close()
    assert await client.process.wait() == 1
    await client.stop()
    assert client.errors == b""


@pytest.mark.usefixtures("decoder")
async def test_an_editor_that_closes_its_end_ends_the_server_without_noise(environment: dict[str, str]) -> None:
    read_end, write_end = os.pipe()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*SERVE, stdin=pipe, stdout=write_end, stderr=pipe, env=environment)
    os.close(write_end)
    os.close(read_end)
    initialize = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
    assert process.stdin is not None
    process.stdin.write(frame(initialize.encode()))
    assert process.stderr is not None
    assert await process.stderr.read() == b""
    assert await process.wait() == 1
    process.stdin.close()


@pytest.mark.usefixtures("decoder")
async def test_nothing_but_frames_is_on_standard_output_whoever_prints(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(NOISY_START)
    client = await LspClient.start({**environment, "PYTHONPATH": f"{tmp_path}:{environment['PYTHONPATH']}"})
    await asyncio.sleep(0.5)
    await client.initialize()
    await until_ready(client)
    client.open(A, "")
    assert await client.complete(A, 0, 0) is not None
    assert await client.shutdown() == 0
    assert client.noise == b""
    for printed in (b"at start", b"to file 1", b"printed later", b"echoed", b"at the end"):
        assert printed in client.errors


@pytest.mark.usefixtures("decoder")
async def test_the_process_ends_when_the_editor_has_died_though_our_input_stays_open(
    environment: dict[str, str],
) -> None:
    command = "import sys, lsp_server.serve as s; s.PARENT_POLL_SECONDS = 0.1; sys.exit(s.serve([]))"
    client = await LspClient.start(environment, (sys.executable, "-c", command))
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    await client.request("initialize", {"processId": editor.pid, "rootUri": None, "capabilities": {}})
    await asyncio.sleep(0.5)
    assert client.process.returncode is None
    await editor.communicate(b"\n")
    assert await client.process.wait() == 1
    await client.stop()


@pytest.mark.usefixtures("decoder")
async def test_an_editor_in_another_container_is_not_taken_for_dead(environment: dict[str, str]) -> None:
    command = "import sys, lsp_server.serve as s; s.PARENT_POLL_SECONDS = 0.05; sys.exit(s.serve([]))"
    client = await LspClient.start(environment, (sys.executable, "-c", command))
    await client.request("initialize", {"processId": 2**22 + 1, "rootUri": None, "capabilities": {}})
    await asyncio.sleep(0.4)
    assert await client.shutdown() == 0


@pytest.mark.usefixtures("decoder")
async def test_over_tcp_one_editor_is_served(environment: dict[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        *SERVE, "--tcp", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE, env=environment
    )
    assert process.stderr is not None
    listening = re.search(rb"listening on 127.0.0.1:(\d+)", await process.stderr.readline())
    assert listening
    reader, writer = await asyncio.open_connection("127.0.0.1", int(listening[1]))
    for message in (
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ):
        writer.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
    answered = await reader.read()
    assert b'"id": 1' in answered
    assert b'"id": 2' in answered
    writer.close()
    await writer.wait_closed()
    assert await process.wait() == 0
    assert await process.stderr.read() == b""


@pytest.mark.parametrize(
    ("address", "code"), [("nowhere", 2), ("127.0.0.1:x", 2), ("127.0.0.1:70000", 2), ("taken", 1), ("no.invalid:1", 1)]
)
async def test_an_address_that_cannot_be_listened_on_is_one_sentence(
    environment: dict[str, str], address: str, code: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        if address == "taken":
            address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = await asyncio.to_thread(
            subprocess.run, [*SERVE, "--tcp", address], env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == code
    assert done.stdout == ""
    assert address in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("decoder")
async def test_initialize_is_answered_within_twice_the_time_of_importing_pygls(environment: dict[str, str]) -> None:
    imports, answers = [], []
    for _ in range(3):
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from pygls.lsp.server import LanguageServer"
        )
        await process.wait()
        imports.append(time.perf_counter() - began)
        began = time.perf_counter()
        client = await LspClient.start(environment)
        await client.initialize()
        answers.append(time.perf_counter() - began)
        await client.shutdown()
    assert statistics.median(answers) < 2 * statistics.median(imports)


# The real decoder, started by the server


@pytest.fixture
async def real_decoder(endpoint: Endpoint) -> AsyncIterator[None]:
    """Ends the decoder that the server has started."""
    yield
    with suppress(OSError, WireError):
        await launch.stop(await connect(endpoint, client="test", version=version()), endpoint)


@pytest.mark.usefixtures("real_decoder")
async def test_the_server_starts_the_decoder_and_tells_what_is_missing(environment: dict[str, str]) -> None:
    client = await LspClient.start(environment)
    await client.initialize()
    shown = await client.notification("window/showMessage")
    assert "draftline models pull" in shown["message"]
    client.open(A, "")
    assert await client.complete(A, 0, 0) is None
    assert await client.shutdown() == 0
    assert client.errors == b""


@pytest.mark.starter
@pytest.mark.usefixtures("real_decoder", "starter_folder")
async def test_the_starter_model_completes_in_an_editor(environment: dict[str, str]) -> None:
    environment["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", f"{os.environ['HOME']}/.cache")
    client = await LspClient.start(environment)
    await client.initialize("utf-8", {"maxTokens": 8})
    async with asyncio.timeout(120):
        await until_ready(client, patience=120)
        client.open(A, "def add(a, b):\r\n    return ")
        item = await client.complete(A, 1, 11)
    assert item is not None
    assert item["insertText"].startswith("a")
    assert await client.shutdown() == 0
