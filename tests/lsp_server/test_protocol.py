"""Every request is answered exactly once, whatever is wrong with it, and nothing else is."""

import asyncio
import json
from typing import Any

import pytest

from decoder.wire.messages import BufferEdited, BufferOpened
from lsp_server.framing import Garbage
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe\xfd", b"[" * 100_000, b"nonsense"])
async def test_a_body_that_is_no_json_is_answered_without_an_id(editor: Editor, body: bytes) -> None:
    editor.server.protocol.receive(body)
    assert await editor.code(None) == -32700


async def test_bytes_that_are_no_frame_are_answered_without_an_id(editor: Editor) -> None:
    editor.server.protocol.receive(Garbage("a header without a valid Content-Length"))
    assert await editor.code(None) == -32700


NO_MESSAGES: list[Any] = [
    *([], 5, None, "text", {}, {"jsonrpc": "2.0"}, {"method": "x"}),
    {"jsonrpc": "2.0", "method": 5},
    {"jsonrpc": "2.0", "id": None, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": True, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": [], "method": "shutdown"},
]


@pytest.mark.parametrize("message", NO_MESSAGES)
async def test_json_that_is_no_message_is_an_invalid_request(editor: Editor, message: Any) -> None:
    editor.server.protocol.receive(json.dumps(message).encode())
    assert await editor.code(None) == -32600


async def test_a_request_of_another_protocol_keeps_its_id(editor: Editor) -> None:
    editor.server.protocol.receive(b'{"jsonrpc": "1.0", "id": 7, "method": "initialize"}')
    assert await editor.code(7) == -32600


async def test_before_initialize_requests_are_refused_and_notifications_dropped(editor: Editor) -> None:
    editor.open("")
    editor.ask(1, 0, 0)
    assert await editor.code(1) == -32002
    editor.say(id=2, method="shutdown")
    assert await editor.code(2) == -32002
    editor.say(method="exit")
    assert editor.exit_codes == [1]


async def test_initialize_is_for_once(editor: Editor) -> None:
    editor.say(id=1, method="initialize", params={"capabilities": 5})
    assert await editor.code(1) == -32602
    await editor.begin()
    editor.say(id=2, method="initialize", params={"capabilities": {}})
    assert await editor.code(2) == -32600


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("textDocument/inlineCompletion", None, -32602),
        ("textDocument/inlineCompletion", [], -32602),
        ("textDocument/inlineCompletion", 5, -32602),
        ("textDocument/inlineCompletion", {"textDocument": {"uri": A}, "position": {"line": -1}}, -32602),
        ("workspace/executeCommand", {"command": "unknown"}, -32602),
        ("textDocument/hover", {}, -32601),
        ("$/strange", {}, -32601),
        ("textDocument/didOpen", {}, -32600),
        ("$/cancelRequest", {"id": 1}, -32601),
    ],
)
async def test_a_request_that_cannot_be_served_is_answered_with_the_right_code(
    editor: Editor, method: str, params: Any, code: int
) -> None:
    await editor.begin()
    editor.say(id=1, method=method, params=params)
    assert await editor.code(1) == code


async def test_the_log_names_what_is_wrong_and_no_code(editor: Editor, caplog: pytest.LogCaptureFixture) -> None:
    # a value of the wrong type was quoted in the editor's log
    await editor.begin()
    document = {"uri": "file:///a.py", "languageId": "python", "version": "zz-code", "text": "zz-code"}
    editor.say(method="textDocument/didOpen", params={"textDocument": document})
    assert "expected int @ $.text_document.version" in caplog.text
    assert "zz-code" not in caplog.text


async def test_notifications_that_make_no_sense_are_ignored(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    num_said = len(editor.said)
    nonsense: list[Any] = [None, [], 5, "x", {"textDocument": 5}]
    for method in (
        "textDocument/didOpen",
        "textDocument/didChange",
        "$/cancelRequest",
        "textDocument/inlineCompletion",
    ):
        for params in nonsense:
            editor.say(method=method, params=params)
    editor.say(method="workspace/strange", params={})
    editor.say(id=4, result=None)
    editor.say(id=5, error={"code": 1, "message": ""})
    editor.say(id="draftline-1", result=None)
    editor.say(id=[], result=None)
    editor.say(id=None, error=5)
    editor.type(2, 0, 0, "not open")
    editor.say(method="textDocument/didClose", params={"textDocument": {"uri": "file:///not/open"}})
    await asyncio.sleep(0.02)
    assert len(editor.said) == num_said
    editor.open("")
    editor.ask(1, 0, 0)
    assert (await editor.item(1))["insertText"] == "text"
    assert decoder.of(BufferOpened)


async def test_nothing_is_remembered_of_messages_that_are_done(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    for version in range(2, 50):
        editor.type(version, 0, 0, "x")
    editor.ask(1, 0, 0, trigger=1)
    await editor.item(1)
    assert not editor.server.protocol._request_futures
    assert len(decoder.of(BufferEdited)) == 48
