"""Whatever is typed, in whatever encoding: the mirrors have the client's text, and every item is where it may be.

Some hundred sequences, or as many as DRAFTLINE_SEQUENCES says (before a release 100000).
"""

import asyncio
import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol.types import Position, Range, TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument

from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.messages import Answer, BufferEdited, BufferOpened, Complete, Shown, Status
from drafting.lines import replace_lines, split_lines
from lsp_server.documents import Change, Document, Encoding
from lsp_server.request import completion_request
from lsp_server.server import create_server
from lsp_server.settings import Settings
from tests.fakes import ScriptedDecoder

NUM_SEQUENCES = int(os.environ.get("DRAFTLINE_SEQUENCES", "600"))
BATCH = 1000

URI = "untitled:Untitled-1"

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")

HALF_PAIRS = "\ud83d\ude00"
CHARACTERS = "abif: \t(\0\n\r\x0c\u2028\x85é\u0301漢😀\u200d\ufeff\U0010ffff"
LONGER: dict[str, str | int | None] = {"N": "\r\n", "I": "\n    ", "F": "👩\u200d👧"}
"""What some letters stand for: hypothesis is many times faster with single characters."""


# What the client has ------------------------------------------------------------------------------------------------


class ClientText:
    """A text as LSP counts it: one list of code units, looked through from its beginning every time.

    A character stands at its first unit, "" at its others.
    """

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._encoding = encoding
        self.units = self._split(text)

    def __str__(self) -> str:
        return "".join(self.units)

    def apply(self, change: Change) -> None:
        if isinstance(change, TextDocumentContentChangeWholeDocument):
            self.units = self._split(change.text)
        else:
            start, end = self.offset(change.range.start), self.offset(change.range.end)
            self.units[start : max(start, end)] = self._split(change.text)

    def offset(self, position: Position) -> int:
        """The unit that a position means; beyond the line it is its end, inside a character its beginning."""
        starts = self._line_starts()
        if position.line >= len(starts):
            return len(self.units)
        at = start = starts[position.line]
        while at < len(self.units) and at < start + position.character and self.units[at] not in ("\r", "\n"):
            at += 1
        while at < len(self.units) and not self.units[at]:
            at -= 1
        return at

    def position(self, offset: int) -> tuple[int, int]:
        starts = [start for start in self._line_starts() if start <= offset]
        return len(starts) - 1, offset - starts[-1]

    def is_between_characters(self, line: int, character: int) -> bool:
        return self.position(self.offset(Position(line, character))) == (line, character)

    def around(self, position: Position) -> tuple[str, str]:
        offset = self.offset(position)
        return "".join(self.units[:offset]), "".join(self.units[offset:])

    def _line_starts(self) -> list[int]:
        ends = [index for index, unit in enumerate(self.units) if unit in ("\r", "\n")]
        return [0, *(end + 1 for end in ends if self.units[end : end + 2] != ["\r", "\n"])]

    def _split(self, text: str) -> list[str]:
        """Half a surrogate pair, which UTF-8 cannot say, is U+FFFD."""
        units: list[str] = []
        for character in text:
            units.append("\ufffd" if character in HALF_PAIRS else character)
            units.extend([""] * (_width(character, self._encoding) - 1))
        return units


def _width(character: str, encoding: Encoding) -> int:
    if encoding == "utf-8":
        return sum(ord(character) >= limit for limit in (0, 0x80, 0x800, 0x10000))
    return 2 if encoding == "utf-16" and ord(character) >= 0x10000 else 1


def as_json_has_it(text: str) -> str:
    """Two halves that meet are one character."""
    loaded: str = json.loads(json.dumps(text))
    return loaded


# What happens -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Happening:
    """A document is opened, changed by some notifications of one or more changes each, and completed."""

    encoding: Encoding
    text: str
    notifications: Sequence[Sequence[Change]]
    cursor: Position
    trigger: int
    answer: Shown
    alternatives: tuple[Shown, ...]


_texts, _answers = (
    st.text(alphabet, max_size=size).map(lambda text: as_json_has_it(text.translate(str.maketrans(LONGER))))
    for alphabet, size in ((CHARACTERS + HALF_PAIRS + "".join(LONGER), 16), (CHARACTERS + "".join(LONGER), 4))
)
_SIZES = (*range(8), 12, 2**31 - 1)
_positions = st.sampled_from([Position(line, character) for line in _SIZES for character in _SIZES])
_insertions = st.builds(lambda at, text: TextDocumentContentChangePartial(Range(at, at), text), _positions, _texts)
_edits = st.builds(TextDocumentContentChangePartial, st.builds(Range, _positions, _positions), _texts)
_changes = st.one_of(_insertions, _edits, _edits, st.builds(TextDocumentContentChangeWholeDocument, _texts))
_shown = st.builds(Shown, _answers, st.integers(0, 9))
_happenings = st.builds(
    Happening,
    encoding=st.sampled_from(ENCODINGS),
    text=_texts,
    notifications=st.lists(st.lists(_changes, min_size=1, max_size=3), max_size=4),
    cursor=_positions,
    trigger=st.sampled_from((1, 2)),
    answer=_shown,
    alternatives=st.lists(_shown, max_size=2).map(tuple),
)


# What comes of it ---------------------------------------------------------------------------------------------------


class Client:
    """An editor in one encoding, its server in this process, and a decoder."""

    def __init__(self, decoder: ScriptedDecoder, endpoint: Endpoint) -> None:
        async def connector() -> Connection:
            return await connect(endpoint, client="test", version="0.1.0")

        self.decoder = decoder
        self.server = create_server(connector)
        self.server.protocol.set_writer(self)
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._ready = asyncio.Event()

    def write(self, data: bytes) -> None:
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        if "method" not in message:
            self._answers[message["id"]].set_result(message)
        elif message["params"].get("state") == "ready":
            self._ready.set()

    def close(self) -> None:
        """Part of pygls' writer interface."""

    async def begin(self, encoding: Encoding) -> None:
        capabilities = {"general": {"positionEncodings": [encoding]}}
        await self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
        self.tell("initialized", {})
        async with asyncio.timeout(10):
            await self._ready.wait()

    def tell(self, method: str, params: Any, **id: int) -> None:
        self.server.protocol.receive(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **id}).encode())

    async def ask(self, method: str, params: Any) -> Any:
        id = next(self._ids)
        answer = self._answers[id] = asyncio.get_running_loop().create_future()
        self.tell(method, params, id=id)
        async with asyncio.timeout(10):
            return (await answer)["result"]

    async def play(self, happening: Happening) -> list[dict[str, Any]]:
        """The items that are shown in the end."""
        self.decoder.received.clear()
        self.decoder.reply = lambda request: _answer(request, happening)
        document = {"uri": URI, "languageId": "python", "version": 1, "text": happening.text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        for version, changes in enumerate(happening.notifications, 2):
            params = {"textDocument": {"uri": URI, "version": version}, "contentChanges": [*map(_sent, changes)]}
            self.tell("textDocument/didChange", params)
        params = {
            "textDocument": {"uri": URI},
            "position": _place(happening.cursor),
            "context": {"triggerKind": happening.trigger},
        }
        result = await self.ask("textDocument/inlineCompletion", params)
        self.tell("textDocument/didClose", {"textDocument": {"uri": URI}})
        items: list[dict[str, Any]] = (result or {"items": []})["items"]
        return items


def _answer(request: Complete, happening: Happening) -> Answer:
    shown = happening.answer
    if request.trigger == "warm_up" or not shown.text:
        return Answer(request.id, reason="the test wants it so")
    return Answer(request.id, shown.text, shown.replaces, happening.alternatives)


def _place(position: Position) -> dict[str, int]:
    return {"line": position.line, "character": position.character}


def _sent(change: Change) -> dict[str, Any]:
    if isinstance(change, TextDocumentContentChangeWholeDocument):
        return {"text": change.text}
    return {"range": {"start": _place(change.range.start), "end": _place(change.range.end)}, "text": change.text}


def check_mirror(happening: Happening, text: ClientText) -> None:
    """The document, and what travels of it, from messages as pygls hands them on."""
    mirror = Document(URI, "python", 1, happening.text, encoding=happening.encoding)
    for version, changes in enumerate(happening.notifications, 2):
        mirror.apply(changes, version)
        for change in changes:
            text.apply(change)
        assert mirror.text == str(text)
    place = mirror.locate(happening.cursor)
    request = completion_request(mirror, place, Settings(), id=1)
    assert (request.prefix, request.suffix) == text.around(happening.cursor)
    cursor = mirror.position(*place)
    assert (cursor.line, cursor.character) == text.position(text.offset(happening.cursor))


def check_decoder(received: Sequence[object], happening: Happening, text: ClientText) -> None:
    """Where it was asked at all: the buffer it holds, and the request."""
    lines: list[str] = []
    for message in received:
        match message:
            case BufferOpened():
                lines = split_lines(message.text)
            case BufferEdited():
                for edit in message.edits:
                    start, end = (edit.start_line, edit.start_column), (edit.end_line, edit.end_column)
                    replace_lines(lines, start, end, edit.text)
            case Complete(trigger="automatic" | "invoked"):
                assert "".join(lines) == str(text)
                assert (message.prefix, message.suffix) == text.around(happening.cursor)


def check_items(items: Sequence[dict[str, Any]], happening: Happening, text: ClientText) -> None:
    line, column = text.position(text.offset(happening.cursor))
    for item in items:
        start, end = item["range"]["start"], item["range"]["end"]
        assert start["line"] == end["line"] == line
        assert start["character"] <= column <= end["character"]
        assert text.is_between_characters(line, start["character"])
        assert text.is_between_characters(line, end["character"])
        assert item["insertText"]


@pytest.mark.parametrize("batch", range(-(-NUM_SEQUENCES // BATCH)))
def test_after_any_sequence_the_mirrors_have_the_clients_text_and_every_range_is_legal(
    endpoint: Endpoint, batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    with asyncio.Runner() as runner:
        decoder = ScriptedDecoder(endpoint, status=Status("ready", "the test is ready", model="test"))
        runner.run(decoder.__aenter__())
        clients = {encoding: Client(decoder, endpoint) for encoding in ENCODINGS}
        for encoding, client in clients.items():
            runner.run(client.begin(encoding))

        num_items = []

        @given(_happenings)
        @settings(max_examples=min(BATCH, NUM_SEQUENCES - batch * BATCH), database=None)
        def play(happening: Happening) -> None:
            text = ClientText(happening.text, happening.encoding)
            check_mirror(happening, text)
            items = runner.run(clients[happening.encoding].play(happening))
            check_decoder(decoder.received, happening, text)
            check_items(items, happening, text)
            assert not caplog.records
            num_items.append(len(items))

        play()
        assert sum(num_items) > len(num_items) / 2, "it is not all silence"
        for client in clients.values():
            runner.run(client.server.aclose())
        runner.run(decoder.crash())


# The model of the client's text is right itself ---------------------------------------------------------------------


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_the_clients_text_counts_units(encoding: Encoding, end: int) -> None:
    text = ClientText("a\r\n😀b\rc", encoding)
    assert text.around(Position(1, end)) == ("a\r\n😀", "b\rc")
    assert text.around(Position(1, 99)) == ("a\r\n😀b", "\rc")
    assert text.around(Position(0, 2)) == ("a", "\r\n😀b\rc")
    assert text.around(Position(2, 1)) == text.around(Position(3, 0)) == ("a\r\n😀b\rc", "")
    assert text.around(Position(1, max(1, end - 1)))[0] == ("a\r\n" if end > 1 else "a\r\n😀")
