"""The link never waits for a decoder that starts, hangs or has gone, and brings a new one up to date."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator

import pytest

import lsp_server.decoder_link
from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.messages import (
    Answer,
    BufferClosed,
    BufferEdited,
    BufferOpened,
    BufferWanted,
    Cancel,
    Complete,
    Feedback,
    Silence,
    Status,
    TextEdit,
)
from lsp_server.decoder_link import MAX_QUEUED_BYTES, MAX_UNTOLD, Connector, DecoderLink
from lsp_server.documents import Document
from tests.fakes import ScriptedDecoder


class Editor:
    """Open documents, a link, and the statuses it has told."""

    def __init__(self, connector: Connector) -> None:
        self.documents: dict[str, Document] = {}
        self.statuses: list[Status] = []
        self.link = DecoderLink(connector, self.documents, self.statuses.append)

    def open(self, uri: str, text: str = "text") -> None:
        self.documents[uri] = Document(uri, "python", 1, text, encoding="utf-16")
        self.link.buffer_opened(uri)

    async def connected(self) -> None:
        self.link.start()
        await self.until_reason_is("")

    async def until_reason_is(self, reason: str) -> None:
        """Asks until an answer has this reason."""
        for number in range(10_000, 10_500):
            if (await self.link.complete(question(number))).reason == reason:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"no answer had the reason {reason!r}")


@pytest.fixture
async def editor(endpoint: Endpoint) -> AsyncIterator[Editor]:
    async def connector() -> Connection:
        return await connect(endpoint, client="test", version="0.1.0")

    editor = Editor(connector)
    yield editor
    await editor.link.aclose()


def question(id: int) -> Complete:
    return Complete(id, "file:///a", "python", "x", "")


def edit(version: int, text: str = "x") -> BufferEdited:
    return BufferEdited("file:///a", version - 1, version, (TextEdit(0, 0, 0, 0, text),))


async def prompt(answer: "asyncio.Future[Answer]", seconds: float = 2) -> Answer:
    """The answer, which must not take longer: nothing but our own loop may be waited for."""
    async with asyncio.timeout(seconds):
        return await answer


async def test_answers_find_their_requests_in_any_order(endpoint: Endpoint, editor: Editor) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        decoder.reply = lambda _request: None
        tasks = [asyncio.create_task(editor.link.complete(question(id))) for id in (1, 2)]
        await decoder.next(Complete)
        while len(decoder.of(Complete)) < 3:
            await decoder.next(Complete)
        decoder.send(Answer(2, "two"), Answer(77, "nobody's"), Answer(1, "one"))
        assert [answer.text for answer in await asyncio.gather(*tasks)] == ["one", "two"]


async def test_cancelling_tells_the_decoder_and_does_not_wait(endpoint: Endpoint, editor: Editor) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        decoder.reply = lambda _request: None
        task = asyncio.create_task(editor.link.complete(question(1)))
        while not decoder.of(Complete) or decoder.of(Complete)[-1].id != 1:
            await decoder.next(Complete)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await prompt(task)
        assert await decoder.next(Cancel) == Cancel(1)


async def test_a_decoder_that_dies_ends_the_waiting_and_the_next_request_finds_its_successor(
    endpoint: Endpoint, editor: Editor
) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        decoder.reply = lambda _request: None
        task = asyncio.create_task(editor.link.complete(question(1)))
        await asyncio.sleep(0.05)
        await decoder.crash()
        assert await task == Answer(1, finish="none", reason="decoder_gone")
    editor.open("file:///a", "while it was away")
    async with ScriptedDecoder(endpoint) as successor:
        assert (await prompt(asyncio.ensure_future(editor.link.complete(question(2))))).reason == "loading"
        await editor.until_reason_is("")
        assert (await successor.next(BufferOpened)).text == "while it was away"


async def test_a_request_never_waits_for_a_decoder_that_starts() -> None:
    async def never() -> Connection:
        await asyncio.Event().wait()
        raise AssertionError

    starting = Editor(never)
    answer = await prompt(asyncio.ensure_future(starting.link.complete(question(1))))
    assert (answer.text, answer.finish, answer.reason) == ("", "none", "loading")
    await starting.link.aclose()


async def test_a_decoder_that_cannot_be_reached_is_told_once_and_not_tried_at_every_keystroke() -> None:
    num_attempts = 0

    async def fail() -> Connection:
        nonlocal num_attempts
        num_attempts += 1
        raise WireError("no model; run `draftline doctor`")

    editor = Editor(fail)
    await editor.until_reason_is("decoder_unavailable")
    for number in range(20):
        answer = await prompt(asyncio.ensure_future(editor.link.complete(question(number))))
        assert answer.reason == "decoder_unavailable"
        await asyncio.sleep(0)
    assert num_attempts == 2
    assert Status("error", "no model; run `draftline doctor`") in editor.statuses


@pytest.mark.parametrize("fault", [RuntimeError("no home directory"), PermissionError(13, "no home directory")])
async def test_a_fault_on_the_way_to_the_decoder_is_told_with_a_remedy(fault: Exception) -> None:
    # a user without a home directory saw "loading" for ever, one without permissions a bare "[Errno 13]"
    async def connect() -> Connection:
        raise fault

    editor = Editor(connect)
    await editor.until_reason_is("decoder_unavailable")
    assert editor.statuses[-1].state == "error"
    assert "no home directory" in editor.statuses[-1].message
    assert editor.statuses[-1].message.endswith("; run `draftline doctor`")
    await editor.link.aclose()


async def test_one_way_messages_without_a_decoder_are_no_error(editor: Editor) -> None:
    editor.open("file:///a")
    editor.link.buffer_edited(edit(2))
    editor.link.buffer_closed("file:///a")
    editor.link.tell(Feedback(1, "accepted"))
    assert editor.statuses == []


async def test_a_connection_brings_all_open_documents_and_then_the_edits(endpoint: Endpoint, editor: Editor) -> None:
    editor.open("file:///a")
    editor.open("file:///b")
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        assert {(await decoder.next(BufferOpened)).document for _ in range(2)} == {"file:///a", "file:///b"}
        editor.link.buffer_edited(edit(2))
        assert await decoder.next(BufferEdited) == edit(2)
        del editor.documents["file:///b"]
        editor.link.buffer_closed("file:///b")
        assert await decoder.next(BufferClosed) == BufferClosed("file:///b")
        editor.link.tell(Feedback(5, "accepted"))
        assert await decoder.next(Feedback) == Feedback(5, "accepted")


async def test_the_decoder_gets_a_document_again_when_it_asks(endpoint: Endpoint, editor: Editor) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        editor.open("file:///a", "one")
        await decoder.next(BufferOpened)
        decoder.send(BufferWanted("file:///a"), BufferWanted("file:///closed"))
        assert (await decoder.next(BufferOpened)).text == "one"
        assert await decoder.next(BufferClosed) == BufferClosed("file:///closed")


async def test_a_decoder_that_stops_reading_costs_bounded_memory_and_is_brought_up_to_date_later(
    endpoint: Endpoint, editor: Editor
) -> None:
    connections: list[Connection] = []

    async def connector() -> Connection:
        connections.append(await connect(endpoint, client="test", version="0.1.0"))
        return connections[-1]

    editor = Editor(connector)
    megabyte = "x" * 2**20
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        editor.open("file:///a")
        await decoder.next(BufferOpened)
        decoder.reading.clear()
        for version in range(2, 60):
            editor.link.buffer_edited(edit(version, megabyte))
        assert MAX_QUEUED_BYTES < connections[0].queued_bytes < MAX_QUEUED_BYTES + 2 * len(megabyte)
        answer = await prompt(asyncio.ensure_future(editor.link.complete(question(1))))
        assert answer.reason == "decoder_busy"

        editor.documents["file:///a"] = Document("file:///a", "python", 60, "newest", encoding="utf-16")
        decoder.reading.set()
        await editor.until_reason_is("")
        assert (await decoder.next(BufferOpened)).text == "newest"
        await editor.link.aclose()


async def test_a_decoder_that_never_answers_is_given_up(
    endpoint: Endpoint, editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        decoder.reply = lambda _request: None
        monkeypatch.setattr(lsp_server.decoder_link, "ANSWER_SECONDS", 0.05)
        assert (await editor.link.complete(question(1))).reason == "decoder_silent"
        assert await decoder.next(Cancel) == Cancel(1)


async def test_garbage_from_the_decoder_ends_the_connection_with_an_error(endpoint: Endpoint, editor: Editor) -> None:
    async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(garble, endpoint.socket_path):
        await editor.until_reason_is("decoder_unavailable")
    assert editor.statuses[-1].state == "error"


async def test_the_decoders_status_is_passed_on(endpoint: Endpoint, editor: Editor) -> None:
    ready = Status("ready", "llama is ready", model="llama")
    async with ScriptedDecoder(endpoint, status=ready):
        await editor.connected()
    assert ready in editor.statuses


# What the decoder did not see, people ask it for all the same


async def test_why_nothing_was_shown_before_there_was_a_decoder_is_told_once_there_is(
    endpoint: Endpoint, editor: Editor
) -> None:
    # `draftline explain` said that every request had shown something
    loading, unavailable = (
        Silence("file:///a", "python", f"{reason}") for reason in ("loading", "decoder_unavailable")
    )
    not_open = Silence("file:///b", "", "not_open")
    editor.link.tell(not_open)
    await editor.until_reason_is("decoder_unavailable")
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.until_reason_is("")
        told = [await decoder.next(Silence) for _ in range(3)]
        assert told == [not_open, loading, unavailable], "each once, however often it was asked"
        await editor.link.complete(question(1))
        assert decoder.of(Silence) == told


async def test_what_the_decoder_left_unanswered_its_successor_learns(endpoint: Endpoint, editor: Editor) -> None:
    async with ScriptedDecoder(endpoint) as decoder:
        await editor.connected()
        decoder.reply = lambda _request: None
        task = asyncio.create_task(editor.link.complete(question(1)))
        while not decoder.of(Complete) or decoder.of(Complete)[-1].id != 1:
            await decoder.next(Complete)
        await decoder.crash()
        assert (await task).reason == "decoder_gone"
    async with ScriptedDecoder(endpoint) as successor:
        await editor.until_reason_is("")
        reasons = [silence.reason for silence in successor.of(Silence)]
    assert "decoder_gone" in reasons


async def test_only_the_latest_reasons_are_kept_and_none_of_reading_ahead(endpoint: Endpoint, editor: Editor) -> None:
    documents = [f"file:///{number}" for number in range(MAX_UNTOLD + 5)]
    for document in documents:
        editor.link.tell(Silence(document, "python", "suppressed:inside_word"))
    async with ScriptedDecoder(endpoint) as decoder:
        ahead = await editor.link.complete(dataclasses.replace(question(1), trigger="warm_up"))
        told = [(await decoder.next(Silence)).document for _ in range(MAX_UNTOLD)]
        assert (await editor.link.complete(question(2))).text
        assert len(decoder.of(Silence)) == MAX_UNTOLD
    assert ahead.reason == "loading"
    assert told == documents[-MAX_UNTOLD:]
