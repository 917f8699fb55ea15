"""From the first breath of a service to its last: loading, stopping, leaving, who may come in."""

import asyncio
import logging
import socket
import stat
import struct

import msgpack
import pytest

from decoder import loader as loader_module
from decoder import service as service_module
from decoder.buffers import Buffers
from decoder.engine import Engine, EngineError
from decoder.service import LEAVING, AlreadyRunningError, Service
from decoder.telemetry import TelemetryLog
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import encode_request
from decoder.wire.messages import PROTOCOL, Answer, Hello, ReasonsQuery, Refused, Status, StatusQuery, Stop
from tests.decoder.serving import answer, ask, client, hung_up, ready, received, serving, until
from tests.fakes import ScriptedEngine


class Loader:
    """Makes an engine when told to; fails as often as it is told."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.allowed = asyncio.Event()
        self.num_calls = 0
        self.engine = ScriptedEngine()

    async def __call__(self) -> Engine:
        self.num_calls += 1
        await self.allowed.wait()
        if self.faults:
            raise self.faults.pop(0)
        return self.engine


async def test_requests_while_loading_are_answered_at_once_and_loading_goes_on(endpoint: Endpoint) -> None:
    loader = Loader()
    async with serving(endpoint, loader), client(endpoint) as editor:
        assert await received(editor) == Status("loading", "loading the model")
        for number in range(3):
            editor.send(ask(number))
        assert {(await answer(editor)).reason for _ in range(3)} <= {"loading", "superseded"}
        loader.allowed.set()
        await ready(editor)
        editor.send(ask(9))
        assert (await answer(editor)).finish == "stop"
        assert loader.num_calls == 1


@pytest.mark.parametrize("fault", [EngineError("no model; run `draftline models pull`"), RuntimeError("bug")])
async def test_after_loading_failed_a_later_request_tries_again(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 1000.0)
    loader = Loader(fault)
    loader.allowed.set()
    async with serving(endpoint, loader), client(endpoint) as editor:
        status = await ready(editor, "error")
        assert "run `draftline" in status.message, "the remedy is named"
        editor.send(ask(1))
        assert (await answer(editor)).reason == f"engine_error: {status.message}"
        assert loader.num_calls == 1, "not more often than RELOAD_SECONDS"
        monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 0.0)
        loader.allowed.clear()
        editor.send(ask(2))
        assert (await answer(editor)).reason == f"engine_error: {status.message}", "until it has been put right"
        loader.allowed.set()
        await ready(editor)
        editor.send(ask(3))
        assert (await answer(editor)).finish == "stop"


async def test_a_new_client_makes_it_try_again_too(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """`draftline decoder` and `doctor` went on telling a mistake that had been put right."""
    monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 1000.0)
    loader = Loader(EngineError("no model; run `draftline models pull`"))
    loader.allowed.set()
    async with serving(endpoint, loader), client(endpoint) as editor:
        await ready(editor, "error")
        monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 0.0)
        async with client(endpoint) as another:
            assert await received(another) == Status("loading", "loading the model")
            await ready(another)


async def test_an_error_that_stays_the_same_is_told_once_while_one_types(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # with a broken config.toml the status went from error to loading and back every three seconds
    monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 1000.0)
    loader = Loader(*[EngineError("config.toml: unknown key 'x'")] * 5, EngineError("another fault"))
    loader.allowed.set()
    async with serving(endpoint, loader), client(endpoint) as editor:
        await ready(editor, "error")
        monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 0.0)
        reasons = []
        for number in range(4):
            editor.send(ask(number))
            reply = await received(editor)
            assert isinstance(reply, Answer), reply
            reasons.append(reply.reason)
            await until(lambda number=number: loader.num_calls == number + 2)  # type: ignore[misc]
        assert set(reasons) == {"engine_error: config.toml: unknown key 'x'"}
        editor.send(ask(9))
        replies = [await received(editor) for _ in range(2)]
        assert Status("error", "another fault") in replies, "what has changed is told"
        editor.send(ask(10))
        await ready(editor)


async def test_an_error_that_is_looked_into_for_longer_becomes_loading(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 1000.0)
    monkeypatch.setattr(loader_module, "QUIET_SECONDS", 0.05)
    loader = Loader(EngineError("no model"))
    loader.allowed.set()
    async with serving(endpoint, loader), client(endpoint) as editor:
        await ready(editor, "error")
        monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 0.0)
        loader.allowed.clear()
        editor.send(ask(1))
        assert (await answer(editor)).reason == "engine_error: no model"
        assert await received(editor) == Status("loading", "loading the model")
        editor.send(ask(2))
        assert (await answer(editor)).reason == "loading"
        loader.allowed.set()
        await ready(editor)


async def test_who_comes_while_an_error_is_looked_into_hears_the_outcome(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 1000.0)
    loader = Loader(*[EngineError("no model")] * 2)
    loader.allowed.set()
    async with serving(endpoint, loader), client(endpoint) as editor:
        await ready(editor, "error")
        monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 0.0)
        loader.allowed.clear()
        async with client(endpoint) as newcomer:
            assert await received(newcomer) == Status("loading", "loading the model")
            loader.allowed.set()
            assert await received(newcomer) == Status("error", "no model")
        editor.send(StatusQuery())
        assert (await received(editor)) == Status("error", "no model"), "and nothing in between"


async def test_an_engine_in_trouble_is_told_and_asked_all_the_same(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader_module, "RELOAD_SECONDS", 0.0)
    loader = Loader()
    async with serving(endpoint, loader) as service, client(endpoint) as editor:
        service.trouble("before there is an engine")
        loader.allowed.set()
        working = await ready(editor)
        service.trouble("the server does not answer; start it")
        service.trouble("the server does not answer; start it")
        assert await received(editor) == Status("error", "the server does not answer; start it")
        editor.send(ask(1))
        assert (await answer(editor)).finish == "stop", "or it would never be found out that it answers again"
        service.trouble("")
        assert await received(editor) == working
    assert loader.num_calls == 1


async def test_stopping_answers_what_is_under_way_and_cleans_up(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(held=True)
    async with serving(endpoint, engine), client(endpoint) as editor, client(endpoint) as other:
        await ready(editor)
        editor.send(ask(1, "x"))
        editor.send(ask(2, "y"))
        await until(lambda: len(engine.requests) == 2)
        other.send(Stop())
        answers = [await answer(editor), await answer(editor)]
        assert {a.id: (a.finish, a.reason) for a in answers} == dict.fromkeys([1, 2], ("cancelled", "stopping"))
        assert await hung_up(editor) == [LEAVING], "or it would be taken for a crash"
        await until(lambda: engine.closed)
    assert not endpoint.socket_path.exists()


async def test_stopping_while_loading_does_not_wait_for_the_model(endpoint: Endpoint) -> None:
    loader = Loader()
    async with serving(endpoint, loader), client(endpoint) as editor:
        await ready(editor, "loading")
        editor.send(Stop())
        await hung_up(editor)
    assert not loader.engine.closed


async def test_a_client_that_does_not_read_cannot_prevent_stopping(endpoint: Endpoint) -> None:
    # what is queued for it was waited for until it went away
    engine = ScriptedEngine("x" * 1_000_000)
    async with serving(endpoint, engine) as service, client(endpoint) as deaf:
        for number in range(5):
            deaf.send(ask(number, str(number)))
        await until(lambda: len(engine.requests) == 5)
        service.stop()
        async with asyncio.timeout(3):
            await until(lambda: engine.closed)
    assert engine.closed


async def test_one_that_never_says_hello_cannot_prevent_stopping(endpoint: Endpoint) -> None:
    engine = ScriptedEngine()
    async with serving(endpoint, engine) as service:
        _, writer = await asyncio.open_unix_connection(endpoint.socket_path)
        await asyncio.sleep(0.05)
        service.stop()
        await until(lambda: engine.closed)
    writer.close()
    assert not endpoint.socket_path.exists()


async def test_one_that_never_says_hello_is_shown_out(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "HELLO_SECONDS", 0.05)
    async with serving(endpoint, ScriptedEngine()):
        reader, writer = await asyncio.open_unix_connection(endpoint.socket_path)
        async with asyncio.timeout(2):
            assert await reader.read() == b""
        writer.close()


async def test_it_leaves_when_nobody_came_or_stayed(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine(), idle_exit_seconds=0.5):
        async with client(endpoint) as editor:
            await ready(editor)
            await asyncio.sleep(0.6)
            editor.send(ask(1))
            assert (await answer(editor)).finish == "stop", "not while somebody is connected"
        async with asyncio.timeout(2):
            await until(lambda: not endpoint.socket_path.exists())
    async with asyncio.timeout(2):
        await Service(
            endpoint,
            lambda _progress: Loader()(),
            Buffers(),
            TelemetryLog.open(endpoint.directory / "telemetry"),
            version="0.1.0",
            idle_exit_seconds=0.05,
        ).run()


async def test_who_only_asks_does_not_keep_it(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine(), idle_exit_seconds=0.4):
        for _ in range(6):
            if not endpoint.socket_path.exists():
                break
            async with client(endpoint) as asker:
                asker.send(ReasonsQuery())
                asker.send(StatusQuery())
                await ready(asker)
            await asyncio.sleep(0.1)
        async with asyncio.timeout(0.3):
            await until(lambda: not endpoint.socket_path.exists())
        assert not endpoint.socket_path.exists()


async def test_an_editor_that_leaves_gives_it_the_whole_time_again(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine(), idle_exit_seconds=0.4):
        for _ in range(4):
            async with client(endpoint) as editor:
                await ready(editor)
                editor.send(ReasonsQuery())
                editor.send(ask(1))
                await asyncio.sleep(0.2)
        assert endpoint.socket_path.exists()


async def test_a_second_one_for_the_same_user_is_refused_and_harms_nobody(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        with pytest.raises(AlreadyRunningError, match="already running"):
            async with serving(endpoint, ScriptedEngine()):
                raise AssertionError("it must not run")
        editor.send(ask(1))
        assert (await answer(editor)).finish == "stop"
        async with client(endpoint) as another:
            await ready(another)


async def test_a_dead_ones_socket_is_taken_over(endpoint: Endpoint) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(endpoint.socket_path))
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        await ready(editor)
        assert endpoint.socket_path.is_socket()


async def test_the_socket_is_private(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()):
        assert stat.S_IMODE(endpoint.socket_path.stat().st_mode) == 0o600
        assert stat.S_IMODE(endpoint.directory.stat().st_mode) == 0o700


async def test_on_tcp_only_who_knows_the_token_comes_in(endpoint: Endpoint) -> None:
    tcp = Endpoint(endpoint.directory, tcp=True)
    async with serving(tcp, ScriptedEngine()):
        port, token = tcp.read_address()
        async with client(tcp) as editor:
            editor.send(ask(1))
            assert (await answer(editor)).finish == "stop"
        for wrong in ("", token[:-1], token + "0", "clé"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(encode_request(Hello("0.1.0", "stranger", token=wrong)))
            async with asyncio.timeout(2):
                said = await reader.read()
            writer.close()
            assert b"token does not match" in said
            assert b"loading" not in said
            assert b"ready" not in said
    assert not tcp.address_path.exists()
    with pytest.raises(ConnectionRefusedError):
        await connect(tcp, client="test", version="0.1.0")


async def test_a_client_of_another_protocol_is_told_nothing_it_could_misread(endpoint: Endpoint) -> None:
    loader = Loader()
    async with serving(endpoint, loader):
        reader, writer = await asyncio.open_unix_connection(endpoint.socket_path)
        writer.write(encode_request(Hello("9.0", "newer", protocol=PROTOCOL + 1)))
        await asyncio.sleep(0.05)
        loader.allowed.set()
        await asyncio.sleep(0.05)
        writer.write(encode_request(StatusQuery()))
        async with asyncio.timeout(2):
            said = await reader.read()
        writer.close()
        assert b"Welcome" in said
        assert b"Status" not in said
        assert b"run `draftline stop`" in said


async def test_a_client_of_another_protocol_may_stop_it(endpoint: Endpoint) -> None:
    engine = ScriptedEngine()
    async with serving(endpoint, engine):
        _, writer = await asyncio.open_unix_connection(endpoint.socket_path)
        writer.write(encode_request(Hello("9.0", "newer", protocol=PROTOCOL + 1)) + encode_request(Stop()))
        await until(lambda: engine.closed)
        writer.close()
    assert engine.closed


async def test_the_first_message_must_be_a_greeting(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()):
        _, writer = await asyncio.open_unix_connection(endpoint.socket_path)
        writer.close()  # and one may leave again without a word
        reader, writer = await asyncio.open_unix_connection(endpoint.socket_path)
        writer.write(encode_request(StatusQuery()))
        async with asyncio.timeout(2):
            assert b"must be Hello" in await reader.read()
        writer.close()


async def test_the_log_names_no_code(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    # a frame that could not be read was quoted in the log
    with caplog.at_level(logging.DEBUG):
        async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
            await ready(editor)
            body = msgpack.packb({"type": "Cancel", "id": "zz-code"})
            editor.writer.write(struct.pack(">I", len(body)) + body)
            assert isinstance((await hung_up(editor))[-1], Refused)
    assert "client refused" in caplog.text
    assert "zz-code" not in caplog.text
