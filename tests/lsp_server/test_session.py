"""What a person sees who types, from the editor's message to the editor's answer; `▮` is the cursor."""

import asyncio
from typing import Any

import pytest

from decoder.wire.messages import Answer, BufferEdited, Cancel, Complete, Feedback, Shown, Silence
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor


async def opened(editor: Editor, marked: str, **options: Any) -> tuple[int, int]:
    """Begins, and opens a document; returns where its mark is."""
    await editor.begin("utf-32", options)
    await editor.until_ready()
    before, after = marked.split("▮")
    editor.open(before + after)
    return before.count("\n"), len(before.rpartition("\n")[2])


def delete(editor: Editor, version: int, line: int, character: int, length: int = 1) -> None:
    start, end = ({"line": line, "character": column} for column in (character, character + length))
    change = {"range": {"start": start, "end": end}, "text": ""}
    identifier = {"uri": A, "version": version}
    editor.say(method="textDocument/didChange", params={"textDocument": identifier, "contentChanges": [change]})


def columns(item: dict[str, Any]) -> tuple[int, int, int]:
    """Line, first and last column of an item's range, which is on one line."""
    start, end = item["range"]["start"], item["range"]["end"]
    assert start["line"] == end["line"]
    return start["line"], start["character"], end["character"]


def asked(decoder: ScriptedDecoder) -> list[Complete]:
    """The requests of a person, without what was only read ahead."""
    return [request for request in decoder.of(Complete) if request.trigger != "warm_up"]


# The item


@pytest.mark.parametrize("trigger", [1, 2])
@pytest.mark.parametrize("marked", ["▮", "a\n    ▮", "a\n    ▮\nb", "x = ▮(y)\n", "😀 = ▮"])
async def test_every_item_has_a_range_on_the_cursors_line(
    editor: Editor, decoder: ScriptedDecoder, marked: str, trigger: int
) -> None:
    decoder.reply = lambda request: Answer(request.id, "one\n  two")
    line, column = await opened(editor, marked)
    editor.ask(1, line, column, trigger)
    assert columns(await editor.item(1)) == (line, column, column)


async def test_blanks_that_the_text_replaces_are_in_the_range(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, "    return c", replaces=8)
    line, column = await opened(editor, "for x in a:\n    f(x)\n        ▮")
    editor.ask(1, line, column)
    item = await editor.item(1)
    assert (item["insertText"], columns(item)) == ("    return c", (2, 0, 8))


async def test_a_range_never_leaves_the_line(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, "text", replaces=99)
    line, column = await opened(editor, "a\n  ▮")
    editor.ask(1, line, column)
    assert columns(await editor.item(1)) == (1, 0, 2)


async def test_who_asks_explicitly_is_given_all_candidates(editor: Editor, decoder: ScriptedDecoder) -> None:
    choice = (Shown("two()"), Shown("    three()\n", replaces=2))
    decoder.reply = lambda request: Answer(request.id, "one()", alternatives=choice)
    await opened(editor, "a\r\n  ▮\r\n")
    editor.ask(1, 1, 2, trigger=1)
    items = (await editor.answer(1))["result"]["items"]
    assert [item["insertText"] for item in items] == ["one()", "two()", "    three()\r\n"]
    assert [columns(item) for item in items] == [(1, 2, 2), (1, 2, 2), (1, 0, 2)]
    assert (await decoder.next(Complete)).candidates == 3
    command = items[1]["command"]
    editor.say(
        id=2,
        method="workspace/executeCommand",
        params={"command": command["command"], "arguments": command["arguments"]},
    )
    assert await decoder.next(Feedback) == Feedback(asked(decoder)[0].id, "accepted")


# Typing along


async def test_who_types_along_is_answered_without_the_decoder(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, "compute(a)\n")
    await opened(editor, "x = ▮\nend\n")
    editor.ask(1, 0, 4)
    first = await editor.item(1)
    for version, key in enumerate("comp", start=2):
        editor.type(version, 0, version + 2, key)
        editor.ask(version, 0, version + 3)
        item = await editor.item(version)
        assert item["insertText"] == "compute(a)\n"[version - 1 :]
        assert columns(item) == (0, version + 3, version + 3)
        assert item["command"] == first["command"], "taking it is taking the first"
    delete(editor, 9, 0, 7)
    editor.ask(9, 0, 7)
    assert (await editor.item(9))["insertText"] == "pute(a)\n", "what is taken back comes back"
    assert len(asked(decoder)) == 1
    editor.type(10, 0, 7, "x")
    editor.ask(10, 0, 8)
    await editor.item(10)
    assert asked(decoder)[1].prefix == "x = comx"


async def test_the_editors_own_closer_and_indentation_are_no_divergence(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    decoder.reply = lambda request: Answer(request.id, "print(a)\r\n    return a".replace("\r\n", "\n"))
    await opened(editor, "    ▮\r\nend\r\n")
    editor.ask(1, 0, 4)
    await editor.item(1)
    editor.type(2, 0, 4, "print()")
    editor.ask(2, 0, 10)
    assert (await editor.item(2))["insertText"] == "a"
    editor.type(3, 0, 10, "a")
    editor.type(4, 0, 12, "\r\n        ")
    editor.ask(4, 1, 8)
    item = await editor.item(4)
    assert (item["insertText"], columns(item)) == ("    return a", (1, 0, 8))
    assert len(asked(decoder)) == 1


async def test_a_selected_entry_and_the_same_entry_taken_lead_to_one_line(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    replies = {"console.log": '("hi")', "console.error": "(e)"}
    decoder.reply = lambda request: Answer(request.id, replies[request.prefix])
    await opened(editor, "console.▮")
    for id, entry in [(1, ".log"), (2, ".error"), (3, ".log")]:
        dot = {"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 8}}
        context = {"triggerKind": 2, "selectedCompletionInfo": {"range": dot, "text": entry}}
        params = {"textDocument": {"uri": A}, "position": dot["end"], "context": context}
        editor.say(id=id, method="textDocument/inlineCompletion", params=params)
        item = await editor.item(id)
        assert (item["insertText"], columns(item)) == (entry + replies["console" + entry], (0, 7, 8))
    editor.type(2, 0, 8, "log")
    editor.ask(4, 0, 11)
    item = await editor.item(4)
    assert (item["insertText"], columns(item)) == ('("hi")', (0, 11, 11))
    assert len(asked(decoder)) == 2


async def test_an_answer_that_came_late_serves_the_next_request(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await opened(editor, "x = ▮")
    editor.ask(1, 0, 4)
    request = await decoder.next(Complete)
    editor.type(2, 0, 4, "c")
    decoder.send(Answer(request.id, "compute(a)"))
    assert (await editor.answer(1))["result"] is None, "the editor would show it a column off"
    editor.ask(2, 0, 5)
    assert (await editor.item(2))["insertText"] == "ompute(a)"
    assert len(asked(decoder)) == 1


async def test_typing_along_ends_what_an_older_request_asks(editor: Editor, decoder: ScriptedDecoder) -> None:
    await opened(editor, "x = ▮")
    editor.ask(1, 0, 4)
    assert (await editor.item(1))["insertText"] == "text"
    decoder.reply = lambda _request: None
    editor.type(2, 0, 4, "q")
    editor.ask(2, 0, 5)
    await decoder.next(Complete)
    diverged = await decoder.next(Complete)
    delete(editor, 3, 0, 4)
    editor.ask(3, 0, 4)
    assert (await editor.item(3))["insertText"] == "text"
    assert (await editor.answer(2))["result"] is None
    assert await decoder.next(Cancel) == Cancel(diverged.id)


async def test_nothing_of_an_excluded_document_is_kept(editor: Editor, decoder: ScriptedDecoder) -> None:
    await opened(editor, "x = ▮")
    editor.ask(1, 0, 4)
    await editor.item(1)
    editor.exclude("*.py")
    editor.ask(2, 0, 4)
    assert (await editor.answer(2))["result"] == {"items": []}
    editor.exclude()
    editor.ask(3, 0, 4)
    await editor.item(3)
    assert len(asked(decoder)) == 2


# Silence has a reason


async def test_what_is_not_asked_is_told_and_kept_with_its_reason(editor: Editor, decoder: ScriptedDecoder) -> None:
    await opened(editor, "pri▮nt\n", languages=["!rust"])
    editor.ask(1, 0, 3)
    assert (await editor.answer(1))["result"] == {"items": []}
    delete(editor, 2, 0, 4)
    editor.ask(2, 0, 4)
    editor.open("fn f", "rust", "file:///b.rs")
    editor.ask(3, 0, 4, uri="file:///b.rs")
    editor.ask(4, 0, 4, uri="file:///c.rs")
    for id in (2, 3, 4):
        assert (await editor.answer(id))["result"] == {"items": []}
    told = [await decoder.next(Silence) for _ in range(4)]
    assert {(silence.document, silence.reason) for silence in told} == {
        (A, "suppressed:inside_word"),
        (A, "suppressed:after_deletion"),
        ("file:///b.rs", "suppressed:language: rust"),
        ("file:///c.rs", "not_open"),
    }
    assert {(kept.uri, kept.reason) for kept in editor.server.session.reasons} == {
        (silence.document, silence.reason) for silence in told
    }
    assert asked(decoder) == []


async def test_who_asks_explicitly_gets_an_answer_there_all_the_same(editor: Editor, decoder: ScriptedDecoder) -> None:
    await opened(editor, "pri▮nt\n")
    delete(editor, 2, 0, 4)
    editor.ask(1, 0, 3, trigger=1)
    assert (await editor.item(1))["insertText"] == "text"
    assert decoder.of(Silence) == []


@pytest.mark.parametrize(
    ("option", "reason"), [({"enabled": False}, "disabled"), ({"languages": []}, "language: python")]
)
async def test_who_asks_explicitly_where_it_is_switched_off_gets_nothing(
    editor: Editor, decoder: ScriptedDecoder, option: dict[str, Any], reason: str
) -> None:
    await opened(editor, "x = ▮")
    editor.settings({"draftline": option})
    editor.ask(1, 0, 4, trigger=1)
    assert (await editor.answer(1))["result"] == {"items": []}
    assert await decoder.next(Silence) == Silence(A, "python", f"suppressed:{reason}")
    assert asked(decoder) == []


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"enabled": False}, "suppressed:disabled"),
        ({"languages": ["!python"]}, "suppressed:language: python"),
        (
            {"exclude": ["a.py"]},
            "suppressed:excluded: it matches 'a.py' of the setting `exclude`; change it there",
        ),
    ],
)
@pytest.mark.parametrize("waits", [True, False], ids=["waits", "runs"])
async def test_what_is_switched_off_while_it_is_asked_for_is_not_shown(
    editor: Editor, decoder: ScriptedDecoder, option: dict[str, Any], reason: str, waits: bool
) -> None:
    # it was still shown; and null would leave what Neovim shows
    decoder.reply = lambda _request: None
    await opened(editor, "x = ▮", debounceMs=1000 * waits)
    editor.type(2, 0, 4, "y")
    editor.ask(1, 0, 5)
    if not waits:
        await decoder.next(Complete)
    editor.settings({"draftline": option})
    assert (await editor.answer(1))["result"] == {"items": []}
    assert (await decoder.next(Silence)).reason == reason
    assert [kept.reason for kept in editor.server.session.reasons] == [reason]
    assert len(asked(decoder)) == 1 - waits


async def test_a_change_of_other_settings_ends_no_request(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await opened(editor, "x = ▮")
    editor.ask(1, 0, 4)
    request = await decoder.next(Complete)
    editor.settings({"draftline": {"maxTokens": 9, "languages": ["python"], "exclude": ["*.sql"]}})
    decoder.send(Answer(request.id, "text"))
    assert (await editor.item(1))["insertText"] == "text"


@pytest.mark.usefixtures("decoder")
async def test_a_deletion_keeps_only_its_own_place_quiet(editor: Editor) -> None:
    await opened(editor, "x = 1▮\ny = \n")
    delete(editor, 2, 0, 4)
    editor.ask(1, 1, 4)
    assert (await editor.item(1))["insertText"] == "text"
    editor.ask(2, 0, 4)
    assert (await editor.answer(2))["result"] == {"items": []}


async def test_the_decoders_own_reasons_are_kept_and_not_told_back(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, reason="nothing_left_after_trim")
    await opened(editor, "x = ▮")
    for id in (1, 2):
        editor.ask(id, 0, 4)
        assert (await editor.answer(id))["result"] == {"items": []}
    assert [kept.reason for kept in editor.server.session.reasons] == ["nothing_left_after_trim"]
    assert decoder.of(Silence) == []


# Debounce, and being overtaken


async def test_a_request_that_is_overtaken_while_it_waits_costs_the_decoder_nothing(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await opened(editor, "▮\n", debounceMs=1000)
    editor.type(2, 0, 0, "x")
    editor.ask(1, 0, 1)
    editor.ask(2, 0, 1)
    assert (await editor.answer(1))["result"] is None
    editor.ask(3, 0, 1, trigger=1)
    assert (await editor.answer(2))["result"] is None
    assert (await editor.item(3))["insertText"] == "text", "who asks explicitly does not wait"
    assert [request.trigger for request in asked(decoder)] == ["invoked"]


async def test_who_leaves_while_a_request_waits_gets_one_reply_for_each(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await opened(editor, "▮\n", debounceMs=1000)
    editor.type(2, 0, 0, "x")
    editor.ask(1, 0, 1)
    await asyncio.sleep(0)
    editor.say(id=2, method="shutdown")
    editor.say(method="$/cancelRequest", params={"id": 1})
    assert await editor.code(1) == -32800
    assert (await editor.answer(2))["result"] is None
    assert asked(decoder) == []


async def test_one_that_is_overtaken_and_cancelled_at_once_gets_one_reply(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    decoder.reply = lambda _request: None
    await opened(editor, "x = ▮")
    editor.ask(1, 0, 4)
    first = await decoder.next(Complete)
    editor.ask(2, 0, 4)
    for id in (1, 2, 1):
        editor.say(method="$/cancelRequest", params={"id": id})
    for id in (1, 2):
        answer = await editor.answer(id)
        assert answer.get("result") is None
    assert await decoder.next(Cancel) == Cancel(first.id)
    editor.say(method="$/cancelRequest", params={"id": 1})
    decoder.reply = lambda request: Answer(request.id, "text")
    editor.ask(3, 0, 4)
    assert (await editor.item(3))["insertText"] == "text"


async def test_a_decoder_that_dies_at_a_request_leaves_an_empty_answer(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    decoder.reply = lambda _request: None
    await opened(editor, "x = ▮")
    editor.ask(1, 0, 4)
    await decoder.next(Complete)
    await decoder.crash()
    assert (await editor.answer(1))["result"] == {"items": []}
    assert [kept.reason for kept in editor.server.session.reasons] == ["decoder_gone"]


async def test_a_request_whose_text_changed_while_it_waited_is_not_asked(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await opened(editor, "▮\n", debounceMs=20)
    editor.type(2, 0, 0, "x")
    editor.ask(1, 0, 1)
    editor.type(3, 0, 1, "y")
    assert (await editor.answer(1))["result"] is None
    assert asked(decoder) == []
    editor.ask(2, 0, 2)
    assert (await editor.item(2))["insertText"] == "text"


@pytest.mark.usefixtures("decoder")
async def test_at_a_line_start_nothing_waits(editor: Editor) -> None:
    await opened(editor, "x▮\n", debounceMs=1000)
    editor.type(2, 0, 1, "\n    ")
    editor.ask(1, 1, 4)
    async with asyncio.timeout(0.5):
        assert (await editor.item(1))["insertText"] == "text"


@pytest.mark.parametrize("cancels", [True, False], ids=["cancels", "types on"])
async def test_five_keys_in_a_row_get_one_reply_each_and_the_last_its_own_text(
    editor: Editor, decoder: ScriptedDecoder, cancels: bool
) -> None:
    decoder.reply = lambda _request: None
    await opened(editor, "x = ▮\n")
    for id, key in enumerate("value", start=1):
        if cancels and id > 1:
            editor.say(method="$/cancelRequest", params={"id": id - 1})
            assert await editor.code(id - 1) == -32800
        editor.type(id + 1, 0, id + 3, key)
        editor.ask(id, 0, id + 4)
        request = await decoder.next(Complete)
        assert request.prefix == "x = " + "value"[:id], "asked at once"
        assert (await decoder.next(BufferEdited)).version == id + 1, "applied while the older one still runs"
        await asyncio.sleep(0.03)
    decoder.send(*(Answer(asked.id, f"after {asked.prefix}") for asked in decoder.of(Complete)))
    assert (await editor.item(5))["insertText"] == "after x = value"
    for id in range(1, 5):
        assert (await editor.answer(id)).get("result") is None
    assert [cancel.id for cancel in decoder.of(Cancel)] == [request.id for request in decoder.of(Complete)[:-1]]


async def test_a_text_that_shrinks_right_behind_a_request_overtakes_it(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    # both messages came in one read, and the request looked at a line that was gone
    await opened(editor, "a\nb\nc\n▮")
    editor.ask(1, 3, 0)
    change = {"text": "a"}
    identifier = {"uri": A, "version": 2}
    editor.say(method="textDocument/didChange", params={"textDocument": identifier, "contentChanges": [change]})
    assert (await editor.answer(1))["result"] is None
    assert asked(decoder) == [], "what is outdated already costs the decoder nothing"
    editor.ask(2, 0, 1)
    assert (await editor.item(2))["insertText"] == "text"
