"""One answer for every request, superseding, cancelling, clients that misbehave (see test_service_lifecycle.py)."""

import asyncio
import random
import struct
from collections import Counter
from pathlib import Path

import msgpack
import pytest

from decoder import client as client_module
from decoder.buffers import Buffers
from decoder.engine import EngineError
from decoder.telemetry import TelemetryLog
from decoder.wire.connection import Connection
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError, encode_request
from decoder.wire.messages import (
    Answer,
    BufferClosed,
    BufferEdited,
    BufferOpened,
    BufferWanted,
    Cancel,
    Complete,
    Feedback,
    Hello,
    Refused,
    Request,
    Status,
    StatusQuery,
    TextEdit,
)
from tests.decoder.serving import answer, ask, client, hung_up, ready, received, serving, until
from tests.fakes import ScriptedEngine


def write(connection: Connection, *messages: Request | bytes) -> None:
    """Bytes as they are, in one piece."""
    connection.writer.write(b"".join(m if isinstance(m, bytes) else encode_request(m) for m in messages))


async def test_a_request_is_answered(endpoint: Endpoint) -> None:
    engine = ScriptedEngine("x):")
    async with serving(endpoint, engine), client(endpoint) as editor:
        assert (editor.welcome.version, editor.welcome.busy) == ("0.1.0", False)
        assert (await ready(editor)).model == "scripted"
        editor.send(ask(7))
        assert await answer(editor) == Answer(7, "x):", language="python", model="scripted", finish="stop")
        editor.send(StatusQuery())
        assert await received(editor) == Status("ready", "scripted is ready", model="scripted")


async def test_two_clients_have_their_own_answers_and_documents(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(held=True)
    async with serving(endpoint, engine), client(endpoint) as one, client(endpoint) as two:
        assert two.welcome.busy
        one.send(ask(1))
        two.send(ask(1))
        await until(lambda: len(engine.requests) == 2)
        assert len({request.document for request in engine.requests}) == 2, "two windows may show one file"
        engine.released.set()
        for editor in (one, two):
            assert (await answer(editor)).finish == "stop", "the same document of another client is not superseded"


async def test_a_newer_request_supersedes_the_older_one_for_the_same_document_only(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(held=True)
    async with serving(endpoint, engine), client(endpoint) as editor:
        await ready(editor)
        editor.send(ask(1, "x.py"))
        editor.send(ask(2, "y.py"))
        editor.send(ask(3, "x.py"))
        gone = await answer(editor)
        assert (gone.id, gone.finish, gone.reason, gone.text) == (1, "cancelled", "superseded", "")
        engine.released.set()
        assert {(await answer(editor)).id, (await answer(editor)).id} == {2, 3}


async def test_a_cancelled_request_is_still_answered(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(held=True)
    async with serving(endpoint, engine), client(endpoint) as editor:
        await ready(editor)
        editor.send(ask(1))
        await until(lambda: len(engine.requests) == 1)
        editor.send(Cancel(1))
        editor.send(Cancel(1))
        assert await answer(editor) == Answer(1, language="python", finish="cancelled", reason="cancelled")
        assert engine.cancelled == [1]
        editor.send(Cancel(1))  # too late, and unknown: nothing
        editor.send(Cancel(99))
        engine.released.set()
        editor.send(ask(1))  # the number is free again
        assert (await answer(editor)).finish == "stop"


async def test_a_request_cancelled_before_it_began_is_answered_too(endpoint: Endpoint) -> None:
    engine = ScriptedEngine()
    async with serving(endpoint, engine), client(endpoint) as editor:
        await ready(editor)
        write(editor, ask(1), Cancel(1), ask(2), ask(3), Cancel(3))
        answers = [await answer(editor) for _ in range(3)]
        assert {a.id: a.reason for a in answers} == {1: "cancelled", 2: "superseded", 3: "cancelled"}
        assert engine.requests == []


async def test_every_request_has_exactly_one_answer_whatever_happens(endpoint: Endpoint) -> None:
    class Slow(ScriptedEngine):
        async def complete(self, request: Complete) -> Answer:
            await asyncio.sleep(random.Random(request.id).choice([0, 0, 0.001, 0.005]))
            if request.id % 17 == 0:
                raise EngineError("no")
            return await super().complete(request)

    order = random.Random(4)
    async with serving(endpoint, Slow()), client(endpoint) as editor:
        await ready(editor)
        for number in range(300):
            editor.send(ask(number, order.choice("abc")))
            if order.random() < 0.3:
                editor.send(Cancel(order.randint(0, number)))
            if order.random() < 0.2:
                await asyncio.sleep(0.002)
        answers = Counter([(await answer(editor)).id for _ in range(300)])
        editor.send(StatusQuery())
        assert isinstance(await received(editor), Status), "no answer comes twice"
    assert answers == Counter(range(300))


async def test_an_engine_that_cannot_answer_says_why(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(error=EngineError("no memory; set draft_model to nothing"))
    async with serving(endpoint, engine), client(endpoint) as editor:
        await ready(editor)
        editor.send(ask(1))
        assert (await answer(editor)).reason == "engine_error: no memory; set draft_model to nothing"
        engine.error = ZeroDivisionError("oh")
        editor.send(ask(2))
        assert (await answer(editor)).reason.startswith("engine_error: ZeroDivisionError")
        engine.error = None
        editor.send(ask(3))
        assert (await answer(editor)).finish == "stop"


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">I", 2**32 - 1),
        struct.pack(">I", 3) + b"\xc1\xc1\xc1",
        encode_request(Hello("0.1.0", "twice")),
        encode_request(ask(1)) + encode_request(ask(1)),
    ],
)
async def test_garbage_ends_that_conversation_with_a_reason_and_no_other(endpoint: Endpoint, garbage: bytes) -> None:
    engine = ScriptedEngine(held=True)
    async with serving(endpoint, engine), client(endpoint) as good, client(endpoint) as bad:
        await ready(good)
        good.send(ask(1))
        await until(lambda: len(engine.requests) == 1)
        write(bad, garbage)
        last = (await hung_up(bad))[-1]
        assert isinstance(last, Refused)
        assert "\n" not in last.reason
        engine.released.set()
        assert (await answer(good)).finish == "stop"


async def test_a_client_that_vanishes_is_forgotten_with_its_requests_and_buffers(endpoint: Endpoint) -> None:
    engine, buffers = ScriptedEngine(held=True), Buffers()
    async with serving(endpoint, engine, buffers=buffers), client(endpoint) as stays:
        async with client(endpoint) as leaves:
            leaves.send(BufferOpened("x.py", "python", 1, "secret"))
            leaves.send(ask(1))
            await until(lambda: len(engine.requests) == 1)
        await until(lambda: engine.cancelled == [1])
        document = engine.requests[0].document
        assert not buffers.apply(BufferEdited(document, 1, 2, ())), "its buffers are closed"
        engine.released.set()
        stays.send(ask(1))
        assert (await answer(stays)).finish == "stop"


async def test_buffers_are_asked_for_again_by_the_clients_own_name(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        await ready(editor)
        edit = TextEdit(0, 0, 0, 0, "x")
        editor.send(BufferEdited("x.py", 1, 2, (edit,)))
        assert await received(editor) == BufferWanted("x.py")
        editor.send(BufferOpened("x.py", "python", 2, ""))
        editor.send(BufferEdited("x.py", 2, 3, (edit,)))
        editor.send(BufferClosed("x.py"))
        editor.send(StatusQuery())
        assert isinstance(await received(editor), Status)


@pytest.mark.trap(34)
async def test_buffers_of_two_windows_that_show_one_file_are_kept_apart(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as stays:
        await ready(stays)
        stays.send(BufferOpened("x.py", "python", 1, "a"))
        async with client(endpoint) as leaves:
            leaves.send(BufferOpened("x.py", "python", 5, "b"))
            await ready(leaves)
        stays.send(BufferEdited("x.py", 1, 2, ()))
        stays.send(StatusQuery())
        assert isinstance(await received(stays), Status), "its own copy is neither replaced nor closed"


async def test_a_client_that_does_not_read_is_dropped_and_keeps_nobody_else_waiting(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MAX_UNREAD_BYTES", 1_000_000)
    async with serving(endpoint, ScriptedEngine("x" * 400_000)), client(endpoint) as deaf, client(endpoint) as good:
        await ready(good)
        write(deaf, *(ask(number, str(number)) for number in range(20)))
        good.send(ask(1))
        assert (await answer(good)).finish == "stop"
        with pytest.raises(WireError, match="ended inside a frame"):
            await hung_up(deaf)


async def test_answers_and_feedback_are_logged_and_a_full_disk_breaks_neither(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    telemetry = TelemetryLog.open(tmp_path)
    async with serving(endpoint, ScriptedEngine(), telemetry=telemetry), client(endpoint) as editor:
        await ready(editor)
        editor.send(ask(1))
        await answer(editor)
        editor.send(Feedback(1, "accepted"))
        await until(lambda: telemetry.path.read_bytes().count(b"kind") == 2)
        telemetry.path.rename(tmp_path / "moved")
        telemetry.path.mkdir()  # nothing can be appended any more
        editor.send(Feedback(1, "accepted"))
        editor.send(ask(2))
        assert (await answer(editor)).finish == "stop"
    unpacker = msgpack.Unpacker()
    unpacker.feed((tmp_path / "moved").read_bytes())
    assert [(record["kind"], record["request"]) for record in unpacker] == [("answer", 1), ("feedback", 1)]


async def test_a_warm_up_leaves_no_trace_in_the_log(endpoint: Endpoint, tmp_path: Path) -> None:
    telemetry = TelemetryLog.open(tmp_path)
    async with serving(endpoint, ScriptedEngine(""), telemetry=telemetry), client(endpoint) as editor:
        await ready(editor)
        editor.send(ask(1, trigger="warm_up"))
        await answer(editor)
        assert not telemetry.path.exists()
        editor.send(ask(2, sampling=None))
        await answer(editor)
        await until(telemetry.path.exists)
