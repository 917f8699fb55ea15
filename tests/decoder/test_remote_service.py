"""A remote engine behind the service, as editors meet it; and what such a decoder does not load."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoder.buffers import Buffers
from decoder.decoder_command import _load_engine
from decoder.engine import Engine
from decoder.remote.breaker import FIRST_PAUSE_SECONDS
from decoder.service import Service
from decoder.telemetry import TelemetryLog
from decoder.wire.endpoint import Endpoint
from decoder.wire.messages import BufferOpened, Cancel, Complete
from tests.decoder.scripted_server import Asked, Reply, listing, refusing, scripted_server, writing
from tests.decoder.serving import answer, ask, client, ready, serving

SECRET = "zz-secret-123"


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes a config.toml for the server at an address."""

    def write(url: str, prompt_family: str = "prefix", **more: str) -> None:
        table = {"kind": "remote", "base_url": url, "model": "NAME", "prompt_family": prompt_family, **more}
        lines = ["[engine]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
        (tmp_path / "config.toml").write_text("\n".join(lines), encoding="utf-8")
        monkeypatch.setenv("DRAFTLINE_CONFIG", str(tmp_path / "config.toml"))

    return write


def loading(buffers: Buffers | None = None) -> Callable[[], Any]:
    async def load() -> Engine:
        return await _load_engine(buffers or Buffers(), lambda _text: None, lambda _text: None)

    return load


async def test_an_editor_gets_its_completions_from_the_server(endpoint: Endpoint, configure: Any) -> None:
    buffers = Buffers()
    async with scripted_server(writing("self):\n")) as server:
        configure(server.url)
        async with serving(endpoint, loading(buffers), buffers=buffers), client(endpoint) as editor:
            status = await ready(editor)
            assert status.model == "NAME"
            assert status.engine == f"{server.url}, prompt family prefix"
            assert server.asked == [], "nobody has asked for anything"
            quoted = "def f(one, two):\n    return one + two  # quoted\n"
            editor.send(BufferOpened("y.py", "python", 1, quoted))
            editor.send(ask(1))
            assert (await answer(editor)).text == "self):"
        assert "# quoted" in server.asked[0].body["prompt"]
        assert server.asked[0].body["prompt"].endswith("def f(")


async def test_a_cancelled_request_hangs_up(endpoint: Endpoint, configure: Any) -> None:
    async with scripted_server(Reply(("a", asyncio.Event()))) as server:
        configure(server.url)
        async with serving(endpoint, loading()), client(endpoint) as editor:
            await ready(editor)
            editor.send(ask(1))
            asked = await server.wait_for(1)
            editor.send(Cancel(1))
            assert (await answer(editor)).reason == "cancelled"
            async with asyncio.timeout(1):
                await asked.gone.wait()


async def test_a_newer_request_hangs_up_on_the_one_it_does_not_go_on_with(endpoint: Endpoint, configure: Any) -> None:
    def script(asked: Asked) -> Reply:
        return writing("b):\n") if asked.body["prompt"].endswith("(a, ") else Reply((asyncio.Event(),))

    async with scripted_server(script) as server:
        configure(server.url)
        async with serving(endpoint, loading()), client(endpoint) as editor:
            await ready(editor)
            editor.send(ask(1))
            first = await server.wait_for(1)
            editor.send(Complete(2, "x.py", "python", "def f(a, ", ""))
            assert (await answer(editor)).reason == "superseded"
            assert (await answer(editor)).text == "b):"
            async with asyncio.timeout(1):
                await first.gone.wait()


async def test_a_family_that_cannot_be_told_is_the_decoders_status(endpoint: Endpoint, configure: Any) -> None:
    async with scripted_server(listing({"id": "NAME"})) as server:
        configure(server.url, "auto")
        async with serving(endpoint, loading()), client(endpoint) as editor:
            status = await ready(editor, "error")
            assert "set prompt_family in [engine] of config.toml to one of prefix" in status.message
            editor.send(ask(1))
            assert "set prompt_family" in (await answer(editor)).reason


async def test_a_server_that_fails_is_the_decoders_status_until_it_answers(endpoint: Endpoint, configure: Any) -> None:
    services: list[Service] = []

    async def load() -> Engine:
        return await _load_engine(Buffers(), lambda _text: None, lambda text: services[0].trouble(text))

    async with scripted_server(refusing(404)) as server:
        configure(server.url)
        async with serving(endpoint, load) as service, client(endpoint) as editor:
            services.append(service)
            await ready(editor)
            editor.send(ask(1))
            assert "answered 404" in (await ready(editor, "error")).message
            assert "answered 404" in (await answer(editor)).reason
            server.script = lambda _asked: writing("self):\n")
            await asyncio.sleep(FIRST_PAUSE_SECONDS)
            editor.send(ask(2))
            assert (await ready(editor)).model == "NAME"
            assert (await answer(editor)).text == "self):"


async def test_a_changed_config_mends_a_server_in_trouble_without_a_stop(endpoint: Endpoint, configure: Any) -> None:
    services: list[Service] = []

    async def load() -> Engine:
        return await _load_engine(Buffers(), lambda _text: None, lambda text: services[0].trouble(text))

    configure("http://127.0.0.1:1/v1")
    async with (
        scripted_server(writing("self):\n")) as server,
        serving(endpoint, load) as service,
        client(endpoint) as editor,
    ):
        services.append(service)
        await ready(editor)
        editor.send(ask(1))
        status = await ready(editor, "error")
        assert "or change base_url in [engine] of config.toml (draftline tries" in status.message
        assert (await answer(editor)).reason == f"engine_error: {status.message}", "one sentence, shown once"
        configure(server.url)
        editor.send(ask(2))
        await ready(editor)
        editor.send(ask(3))
        while not (found := await answer(editor)).text:
            assert found.id == 2
        assert found.text == "self):"


async def test_neither_key_nor_code_is_in_anything_that_is_kept(
    endpoint: Endpoint,
    configure: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("LLM_API_KEY", SECRET)
    caplog.set_level("DEBUG")
    message = f"key {SECRET} may not ask for def f("
    async with scripted_server(refusing(403, message)) as server:
        configure(server.url, api_key_env="LLM_API_KEY")
        telemetry = TelemetryLog.open(tmp_path / "telemetry")
        async with serving(endpoint, loading(), telemetry=telemetry), client(endpoint) as editor:
            await ready(editor)
            editor.send(ask(1))
            reason = (await answer(editor)).reason
        assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    kept = _all_text(tmp_path)
    assert "LLM_API_KEY is not accepted" in reason
    assert SECRET not in kept + reason + caplog.text
    assert "def f(" not in kept + caplog.text


def _all_text(folder: Path) -> str:
    return "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


def test_it_loads_no_model_library(configure: Any) -> None:
    configure("http://127.0.0.1:1/v1")
    script = (
        "import asyncio, sys\n"
        "from decoder.buffers import Buffers\n"
        "import decoder.decoder_command as c\n"
        "asyncio.run(c._load_engine(Buffers(), print, print))\n"
        "heavy = ('torch', 'transformers', 'openvino', 'decoder.local_engine', 'decoder.assemble')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ)
    )
    assert done.stdout == "[]\n"
