"""The whole product with a server that does what a test says: `draftline serve`, the decoder, and an editor's view."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from decoder.remote.breaker import FIRST_PAUSE_SECONDS
from tests.decoder.scripted_server import Asked, Reply, ScriptedServer, always, listing, refusing, whole, writing
from tests.decoder.test_completion_cases import Case
from tests.journeys.remote_desk import Desk, ask, taken, until
from tests.lsp_client import LspClient

SECRET = "zz-secret-123"
URI = "file:///project/a.py"

# Servers ------------------------------------------------------------------------------------------------------------


CHATTY = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "NAME", "usage": None, "x": [{}]}


def chatty(text: str, **more: Any) -> bytes:
    """An event with everything that servers put beside the text."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": None, "stop_reason": None, **more}
    return f"data: {json.dumps({**CHATTY, 'choices': [choice]})}\n\n".encode()


BODY = "return a + b\n\n\nadd(1, 2)\n"
STYLES = {
    "tokens": writing(BODY, size=1),
    "all at once": writing(BODY, size=1000),
    "http 1.0": replace(writing(BODY), is_chunked=False),
    "no mark of the end": Reply((BODY[:9], BODY[9:])),
    "cut at the most tokens": writing(BODY, finish="length"),
    "more fields": Reply((chatty(BODY), chatty("", finish_reason="length"), b"data: [DONE]\n\n")),
    "without a content type": replace(writing(BODY), kind=""),
    "not streamed": whole(BODY),
    "not streamed, http 1.0": whole(BODY, indent=2, is_chunked=False),
}


async def test_a_server_may_answer_in_any_style(office: Desk, server: ScriptedServer) -> None:
    wanted = "def add(a, b):\n    return a + b\n"
    async with office.window() as client:
        await until(client, "ready")
        for name, reply in STYLES.items():
            server.script = always(reply)
            case = Case(name, "python", "def add(a, b):\n    ▮\n", "", wanted)
            assert await taken(client, case, f"file:///p/{name}.py") == wanted, name


async def test_p22_whoever_types_on_gets_the_text_of_the_last_version(office: Desk, server: ScriptedServer) -> None:
    def script(asked: Asked) -> Reply:
        return writing("(1)\n") if asked.body["prompt"].endswith("print") else Reply((asyncio.Event(),))

    server.script = script
    async with office.window(options={"debounceMs": 0}) as client:
        await until(client, "ready")
        client.open(URI, "import os\n")
        ids: list[int] = []
        for column, key in enumerate("print"):
            if ids:
                client.notify("$/cancelRequest", {"id": ids[-1]})
            client.insert(URI, column + 2, 1, column, key)
            ids.append(client.ask(URI, 1, column + 1))
            await server.wait_for(column + 1)
        assert (await client.result(ids[-1]))["items"][0]["insertText"] == "(1)"
        async with asyncio.timeout(2):
            for asked in server.asked[:-1]:
                await asked.gone.wait()
        for id in ids[:-1]:
            assert (await client.response(id)).get("result") is None
    assert len(server.asked) == 5


async def test_nothing_is_streamed_to_a_client_that_has_gone(office: Desk, server: ScriptedServer) -> None:
    more = asyncio.Event()
    server.script = lambda _asked: Reply(("a", more, *("b" * 5000)))
    async with office.window(options={"debounceMs": 0, "deadlineMs": 0}) as client:
        await until(client, "ready")
        client.open(URI, "x = ")
        id = client.ask(URI, 0, 4)
        asked = await server.wait_for(1)
        client.notify("$/cancelRequest", {"id": id})
        async with asyncio.timeout(1):
            await asked.gone.wait()
        assert "error" in await client.response(id)


# When it does not work --------------------------------------------------------------------------------------------


async def test_a_server_that_comes_up_later_is_found(office: Desk, server: ScriptedServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken_port:
        port = taken_port.getsockname()[1]
    office.configure(f"http://127.0.0.1:{port}/v1")
    server.script = always(writing("1\n"))
    async with office.window(options={"debounceMs": 0}) as client:
        await until(client, "ready")
        client.open(URI, "x = ")
        assert await ask(client, URI, 0, 4) == []
        status = await until(client, "error")
        assert status["remedy"].startswith("start the server, or change base_url")
        listening = await asyncio.start_server(server.converse, "127.0.0.1", port)
        await asyncio.sleep(FIRST_PAUSE_SECONDS)
        (item,) = await ask(client, URI, 0, 4)
        assert item["insertText"] == "1"
        assert (await until(client, "ready", number=len(client.all_of("draftline/status")) - 1))["model"] == "NAME"
        listening.close()


@pytest.mark.parametrize(
    ("reply", "times", "remedy"),
    [
        (refusing(500, "boom; bang"), 3, "see the server's log"),
        (refusing(429, "slow down"), 3, "wait, or raise the server's limit"),
        (refusing(401), 1, "it wants a key: set api_key_env in [engine] of config.toml"),
        (Reply((b"<html>",), kind="text/html"), 1, "base_url in [engine] of config.toml must be that of"),
    ],
    ids=["500", "429", "401", "html"],
)
async def test_what_a_server_refuses_is_the_status_with_the_remedy(
    office: Desk, server: ScriptedServer, reply: Reply, times: int, remedy: str
) -> None:
    server.script = always(reply)
    async with office.window(options={"debounceMs": 0}) as client:
        await until(client, "ready")
        client.open(URI, "x = ")
        for _ in range(times):
            assert await ask(client, URI, 0, 4) == []
        assert (await until(client, "error"))["remedy"].startswith(remedy)
        explained = await client.request("workspace/executeCommand", {"command": "draftline.explain"})
        assert remedy in explained["reasons"][0]["sentence"]
        num_asked = len(server.asked)
        server.script = always(writing("1\n"))
        assert await ask(client, URI, 0, 4) == [], "it is left in peace"
        assert len(server.asked) == num_asked
        await asyncio.sleep(FIRST_PAUSE_SECONDS)
        assert (await ask(client, URI, 0, 4))[0]["insertText"] == "1"


async def test_p26_what_the_model_cannot_do_is_the_status_until_it_is_mended(
    office: Desk, server: ScriptedServer
) -> None:
    server.script = lambda asked: listing({"id": "NAME"}) if asked.path.endswith("/models") else writing("1\n")
    office.configure(server.url, prompt_family="auto")
    async with office.window(options={"debounceMs": 0}) as client:
        status = await until(client, "error")
        assert status["remedy"].startswith("set prompt_family in [engine] of config.toml to one of prefix,")
        await mended(office, client, server)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[engine\n", "own.toml is not valid TOML"),
        (
            "[engine]\nkind = 'remote'\nbase_url = 'http://h/v1'\nmodel = 'a'\napi_key_env = 'ABSENT'\n",
            "quit the editor",
        ),
    ],
    ids=["broken", "key"],
)
async def test_a_config_that_cannot_be_used_is_the_status_until_it_is_mended(
    office: Desk, server: ScriptedServer, config: str, said: str
) -> None:
    office.write_config(config)
    server.script = always(writing("1\n"))
    async with office.window(options={"debounceMs": 0}) as client:
        status = await until(client, "error")
        assert said in status["message"]
        assert status["remedy"]
        client.open(URI, "x = ")
        assert await ask(client, URI, 0, 4) == []
        explained = await client.request("workspace/executeCommand", {"command": "draftline.explain"})
        assert said in explained["reasons"][0]["sentence"]
        await mended(office, client, server)


async def mended(office: Desk, client: LspClient, server: ScriptedServer) -> None:
    """The config is put right: requests find out by themselves."""
    office.configure(server.url)
    client.open("file:///project/b.py", "x = ")
    async with asyncio.timeout(10):
        async for items in asking(client, "file:///project/b.py", 0, 4):
            if items:
                break
    assert items[0]["insertText"] == "1"


async def asking(client: LspClient, uri: str, line: int, character: int) -> AsyncIterator[Any]:
    """The items at a place, now and ever again."""
    while True:
        yield await ask(client, uri, line, character)
        await asyncio.sleep(0.2)


# Secrets -------------------------------------------------------------------------------------------------------------


async def test_p27_a_secret_in_another_tab_is_nowhere(office: Desk, server: ScriptedServer) -> None:
    server.script = lambda asked: writing("1\n") if "# ask" in asked.body["prompt"] else refusing(400, str(asked.body))
    secrets = ["file:///p/.env", "file:///p/id_rsa", "file:///p/server.key", "file:///p/tls.pem"]
    async with office.window(options={"debounceMs": 0}) as client:
        await until(client, "ready")
        client.open("file:///p/other.py", 'TOKEN = "zz-harmless"\n')
        for uri in secrets:
            client.open(uri, f"TOKEN={SECRET}\nTOKEN=", language="plaintext")
            assert await ask(client, uri, 1, 6) == []
            client.insert(uri, 2, 1, 6, SECRET[:3])
            assert await ask(client, uri, 1, 9, invoked=True) == []
        client.open("file:///p/app.py", '# ask\nTOKEN = "zz-')
        assert len(await ask(client, "file:///p/app.py", 1, 12)) == 1
        client.open("file:///p/bad.py", "CONFIDENTIAL_NAME = ")
        assert await ask(client, "file:///p/bad.py", 0, 20) == []
        await client.request("workspace/executeCommand", {"command": "draftline.explain"})
    everything = office.everything() + json.dumps([asked.body for asked in server.asked]).encode()
    assert b"zz-harmless" in everything, "this search finds what was sent"
    assert SECRET.encode() not in everything
    assert b"CONFIDENTIAL_NAME" not in office.everything()
