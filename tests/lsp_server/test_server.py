"""What an editor gets, message by message, from a server in this process."""

from typing import Any

import pytest

from decoder.wire.messages import Answer, BufferEdited, BufferOpened, Cancel, Complete, Feedback, TextEdit
from lsp_server.server import create_server
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor

# The handshake


async def test_capabilities_are_static_and_complete(editor: Editor) -> None:
    capabilities = await editor.begin("utf-8")
    assert capabilities["positionEncoding"] == "utf-8"
    assert capabilities["inlineCompletionProvider"] == {}
    assert capabilities["textDocumentSync"] == {"openClose": True, "change": 2, "save": False}
    commands = capabilities["executeCommandProvider"]["commands"]
    assert [command.rpartition(".")[0] for command in commands] == ["draftline.accepted", "draftline.explain"]
    assert set(commands).isdisjoint(create_server().protocol.fm.commands), "VS Code has one table for all servers"


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["utf-32", "utf-8"], "utf-32"), (["utf-7", "utf-16"], "utf-16"), (["utf-7"], "utf-16"), (None, "utf-16")],
)
async def test_the_clients_first_encoding_that_we_know_is_taken(editor: Editor, offered: Any, chosen: str) -> None:
    params = {"processId": None, "capabilities": {"general": {"positionEncodings": offered}}}
    editor.say(id=1, method="initialize", params=params)
    assert (await editor.answer(1))["result"]["capabilities"]["positionEncoding"] == chosen


async def test_an_exotic_capability_keeps_no_editor_out(editor: Editor) -> None:
    exotic = {"workspaceEdit": {"resourceOperations": ["teleport"]}}
    capabilities = {"workspace": exotic, "general": {"positionEncodings": ["utf-8"]}}
    editor.say(id=1, method="initialize", params={"processId": None, "capabilities": capabilities})
    assert (await editor.answer(1))["result"]["capabilities"]["positionEncoding"] == "utf-8"


# Completions


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 10), ("utf-16", 6), ("utf-32", 5)])
async def test_an_item_is_at_the_cursor_in_the_clients_own_units(
    editor: Editor, decoder: ScriptedDecoder, encoding: str, character: int
) -> None:
    await editor.begin(encoding)
    await editor.until_ready()
    editor.open("x\n😀漢 = )\nrest\n")
    editor.ask(1, 1, character)
    item = await editor.item(1)
    position = {"line": 1, "character": character}
    assert item["insertText"] == "text"
    assert item["range"] == {"start": position, "end": position}
    request = await decoder.next(Complete)
    assert (request.prefix, request.suffix) == ("x\n😀漢 = ", ")\nrest\n")
    assert (request.document, request.language, request.trigger) == (A, "python", "automatic")


async def test_the_cursor_is_understood_as_the_text_was_when_the_request_came(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    editor.type(2, 0, 0, "a = ")
    decoder.reply = lambda _request: None
    editor.ask(1, 0, 4, trigger=1)
    request = await decoder.next(Complete)
    assert (request.prefix, request.trigger) == ("a = ", "invoked")
    editor.type(3, 0, 0, "# ")
    decoder.send(Answer(request.id, "text"))
    assert (await editor.answer(1))["result"] is None, "the text has changed since: the answer would be misplaced"


async def test_edits_reach_the_decoder_in_code_points(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin("utf-8")
    await editor.until_ready()
    editor.open("😀\r\n")
    editor.type(5, 0, 4, "é")
    assert await decoder.next(BufferOpened) == BufferOpened(A, "python", 1, "😀\r\n")
    assert await decoder.next(BufferEdited) == BufferEdited(A, 1, 5, (TextEdit(0, 1, 0, 1, "é"),))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_line_ends_are_the_documents_own(editor: Editor, decoder: ScriptedDecoder, end: str) -> None:
    decoder.reply = lambda request: Answer(request.id, "if x:\n    y\n")
    await editor.begin()
    await editor.until_ready()
    editor.open(f"a{end}{end}b")
    editor.ask(1, 1, 0)
    assert (await editor.item(1))["insertText"] == f"if x:{end}    y{end}"
    assert (await decoder.next(Complete)).prefix == f"a{end}"


async def test_taking_an_item_is_told_to_the_decoder(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    editor.ask(1, 0, 0)
    command = (await editor.item(1))["command"]
    params = {"command": command["command"], "arguments": command["arguments"]}
    editor.say(id=2, method="workspace/executeCommand", params=params)
    assert (await editor.answer(2))["result"] is None
    assert await decoder.next(Feedback) == Feedback((await decoder.next(Complete)).id, "accepted")


@pytest.mark.parametrize("arguments", [["x"], [], [1, 2], None])
async def test_a_command_with_other_arguments_is_refused(editor: Editor, arguments: Any) -> None:
    await editor.begin()
    params = {"command": editor.server.accepted_command, "arguments": arguments}
    editor.say(id=1, method="workspace/executeCommand", params=params)
    assert await editor.code(1) == -32602


async def test_there_is_no_item_where_none_is_wanted(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(options={"languages": ["rust"]})
    await editor.until_ready()
    editor.open("")
    editor.ask(1, 0, 0)
    assert (await editor.answer(1))["result"] == {"items": []}
    editor.ask(2, 0, 0, uri="file:///not/open")
    assert (await editor.answer(2))["result"] == {"items": []}
    assert not decoder.of(Complete)


async def test_a_disabled_server_starts_no_decoder(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(options={"enabled": False})
    editor.open("")
    editor.ask(1, 0, 0)
    assert (await editor.answer(1))["result"] == {"items": []}
    assert not decoder.received


@pytest.mark.parametrize(
    ("line", "start", "selected", "prefix"),
    [("x.fo", 2, "format", "x.format"), ("x.fm", 2, "format", "x.format"), ("x.", 2, "format", "x.format")],
)
async def test_what_is_suggested_goes_on_from_the_selected_entry_of_the_editors_list(
    editor: Editor, decoder: ScriptedDecoder, line: str, start: int, selected: str, prefix: str
) -> None:
    decoder.reply = lambda request: Answer(request.id, "(1)")
    await editor.begin()
    await editor.until_ready()
    editor.open(line + "\nrest")
    begin, end = {"line": 0, "character": start}, {"line": 0, "character": len(line)}
    context = {"triggerKind": 2, "selectedCompletionInfo": {"range": {"start": begin, "end": end}, "text": selected}}
    params = {"textDocument": {"uri": A}, "position": end, "context": context}
    editor.say(id=1, method="textDocument/inlineCompletion", params=params)
    item = await editor.item(1)
    assert (item["insertText"], item["range"]) == ("format(1)", {"start": begin, "end": end})
    assert (await decoder.next(Complete)).prefix == prefix


# Cancelling and superseding


async def test_a_newer_request_answers_the_older_with_null_at_once(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    editor.ask(1, 0, 0)
    first = await decoder.next(Complete)
    editor.ask(2, 0, 0)
    assert (await editor.answer(1))["result"] is None
    assert await decoder.next(Cancel) == Cancel(first.id)
    second = await decoder.next(Complete)
    decoder.send(Answer(first.id, "late"), Answer(second.id, "second"))
    assert (await editor.item(2))["insertText"] == "second"


async def test_closing_a_document_answers_what_waits_for_it(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    editor.ask(1, 0, 0)
    await decoder.next(Complete)
    editor.say(method="textDocument/didClose", params={"textDocument": {"uri": A}})
    assert (await editor.answer(1))["result"] is None


async def test_a_cancelled_request_is_answered_once_and_cancelled_in_the_decoder(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    decoder.reply = lambda _request: None
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    ids: tuple[Any, ...] = (1, "one")
    for id in ids:
        editor.ask(id, 0, 0)
        request = await decoder.next(Complete)
        editor.say(method="$/cancelRequest", params={"id": id})
        editor.say(method="$/cancelRequest", params={"id": id})
        assert await editor.code(id) == -32800
        assert await decoder.next(Cancel) == Cancel(request.id)
        decoder.send(Answer(request.id, "late"))
    editor.say(method="$/cancelRequest", params={"id": 4711})


async def test_shutdown_answers_what_still_waits(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    editor.ask(1, 0, 0)
    await decoder.next(Complete)
    editor.say(id=2, method="shutdown")
    assert (await editor.answer(2))["result"] is None
    assert await editor.code(1) == -32800
    editor.ask(3, 0, 0)
    assert await editor.code(3) == -32600
    editor.say(method="exit")
    assert editor.exit_codes == [0]


# The decoder's state


async def test_an_error_of_the_decoder_is_shown_once_and_told_as_status(editor: Editor) -> None:
    await editor.begin()
    editor.open("")
    for id in range(1, 5):
        editor.ask(id, 0, 0)
        assert (await editor.answer(id))["result"] == {"items": []}
    errors = [shown for shown in editor.notifications("window/showMessage") if shown["type"] == 1]
    assert [error["message"] for error in errors] == ["draftline: no decoder; run `draftline doctor`"]
    error = {"state": "error", "message": "no decoder; run `draftline doctor`", "model": ""}
    assert {**error, "remedy": "run `draftline doctor`"} in editor.notifications("draftline/status")


async def test_why_a_request_failed_is_shown_once(editor: Editor, decoder: ScriptedDecoder) -> None:
    # with a way of drafting that is not available, ghost text just never came
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    reasons = ["engine_error: draft 'syntax' is not available; use 'lookup'", "model_wrote_nothing"]
    for id in range(1, 5):
        decoder.reply = lambda request, id=id: Answer(request.id, reason=reasons[id % 2])  # type: ignore[misc]
        editor.ask(id, 0, 0)
        assert (await editor.answer(id))["result"] == {"items": []}
    errors = [shown["message"] for shown in editor.notifications("window/showMessage")]
    assert errors == ["draftline: draft 'syntax' is not available; use 'lookup'"]


async def test_a_ready_decoder_names_its_model(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    assert editor.notifications("draftline/status")[-1] == {
        "state": "ready",
        "message": "llama is ready",
        "model": "llama",
    }
    assert len(decoder.received) == 1
