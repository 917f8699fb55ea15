"""An excluded document never reaches the decoder, and what excludes it can change while it is open."""

from pathlib import Path

import pytest

from decoder.wire.messages import (
    Answer,
    BufferClosed,
    BufferEdited,
    BufferOpened,
    BufferWanted,
    Cancel,
    Complete,
    Hello,
    Silence,
)
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor
from tests.lsp_server.repository import repository

ENV = "file:///code/.env"
MARKER = "TOKEN=zz-marker"


async def flushed(editor: Editor, decoder: ScriptedDecoder) -> None:
    """Until the decoder has read what was sent before: messages keep their order."""
    editor.open("", uri="file:///last.py")
    while (await decoder.next(BufferOpened)).document != "file:///last.py":
        pass


async def test_a_secret_is_neither_mirrored_nor_completed_and_the_log_says_why(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open(MARKER, "dotenv", ENV)
    editor.type(2, 0, 0, MARKER, ENV)
    for id in (1, 2):
        editor.ask(id, 0, 3, uri=ENV)
        assert (await editor.answer(id))["result"] == {"items": []}
    editor.say(method="textDocument/didClose", params={"textDocument": {"uri": ENV}})
    await flushed(editor, decoder)
    assert {type(message) for message in decoder.received} == {Hello, BufferOpened, Silence}
    because = """its name matches '.env', as of a file with secrets; "exclude": ["!.env"] lets it in"""
    silence = Silence(ENV, "", f"suppressed:excluded: {because}")
    assert decoder.of(Silence) == [silence] * 2, "it may know why nothing was shown"
    assert "zz-marker" not in str(decoder.received)
    logged = [told["message"] for told in editor.notifications("window/logMessage")]
    (why,) = [message for message in logged if message.startswith("suppressed:excluded")]
    assert ENV in why
    assert "'.env'" in why


async def test_the_setting_closes_what_was_sent_and_ends_what_is_asked(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    decoder.reply = lambda _request: None
    await editor.begin()
    await editor.until_ready()
    editor.open("x = ")
    editor.ask(1, 0, 4)
    asked = await decoder.next(Complete)
    editor.exclude("*.py")
    assert (await editor.answer(1))["result"] == {"items": []}
    assert await decoder.next(Cancel) == Cancel(asked.id)
    assert await decoder.next(BufferClosed) == BufferClosed(A)
    editor.type(2, 0, 4, MARKER)
    editor.ask(2, 0, 0)
    assert (await editor.answer(2))["result"] == {"items": []}
    assert len(decoder.of(Complete)) == 1
    assert not decoder.of(BufferEdited)

    decoder.reply = lambda request: Answer(request.id, "1")
    editor.exclude()
    editor.ask(3, 0, len("x = " + MARKER))
    assert (await editor.item(3))["insertText"] == "1"
    assert decoder.of(BufferOpened)[-1].text == "x = " + MARKER, "let in again as it is now"


async def test_the_person_can_let_a_secret_in(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(options={"exclude": ["!.env"]})
    await editor.until_ready()
    editor.open("A=", uri=ENV)
    editor.ask(1, 0, 2, uri=ENV)
    assert (await editor.item(1))["insertText"] == "text"
    assert (await decoder.next(BufferOpened)).document == ENV


async def test_a_document_that_gets_the_name_of_a_secret_is_closed_at_the_decoder(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("x")
    editor.rename(A, ENV, MARKER)
    assert await decoder.next(BufferClosed) == BufferClosed(A)
    editor.rename(ENV, A, "y")
    await flushed(editor, decoder)
    assert [opened.text for opened in decoder.of(BufferOpened)] == ["x", "y", ""]


async def test_a_decoder_that_asks_for_an_excluded_document_gets_nothing(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open(MARKER, uri=ENV)
    await flushed(editor, decoder)
    decoder.send(BufferWanted(ENV))
    assert await decoder.next(BufferClosed) == BufferClosed(ENV)
    assert "zz-marker" not in str(decoder.received)


async def test_what_git_ignores_is_excluded_and_its_neighbours_are_not(
    editor: Editor, decoder: ScriptedDecoder, tmp_path: Path
) -> None:
    project = repository(tmp_path, "local.py")
    local, main = (project / "local.py").as_uri(), (project / "main.py").as_uri()
    await editor.begin()
    await editor.until_ready()
    editor.open(MARKER, uri=local)
    editor.open("x", uri=main)
    editor.ask(1, 0, 0, uri=local)
    editor.ask(2, 0, 1, uri=main)
    assert (await editor.answer(1))["result"] == {"items": []}
    assert (await editor.item(2))["insertText"] == "text", "the request has waited for git"
    (kept,) = editor.server.session.reasons
    assert kept.reason == 'suppressed:excluded: git ignores it; "exclude": ["!local.py"] lets it in'
    editor.exclude("!local.py")
    assert (await decoder.next(BufferOpened)).document == main
    assert (await decoder.next(BufferOpened)).document == local


async def test_while_git_thinks_nothing_is_sent_and_nothing_waits(
    editor: Editor, decoder: ScriptedDecoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = repository(tmp_path / "project", "local.py")
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    slow = (project / "main.py").as_uri()
    await editor.begin()
    await editor.until_ready()
    editor.open(MARKER, uri=slow)
    editor.type(2, 0, 0, "more", slow)
    editor.ask(0, 0, 0, uri=slow)
    editor.ask(1, 0, 0, uri=slow)
    assert (await editor.answer(0))["result"] is None, "overtaken"
    editor.open("x")
    editor.ask(2, 0, 1)
    assert (await editor.item(2))["insertText"] == "text"
    editor.say(method="textDocument/didClose", params={"textDocument": {"uri": slow}})
    assert (await editor.answer(1))["result"] is None
    await flushed(editor, decoder)
    assert decoder.of(Silence) == [], "what is not known to be excluded is not called so"
    assert "zz-marker" not in str(decoder.received)


async def test_uris_that_name_no_file_here_are_judged_by_name(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    for uri in ("file:///a%00b.py", "file:", "untitled:Untitled-1", "", "file://[/x.py"):
        editor.open("x", uri=uri)
        assert (await decoder.next(BufferOpened)).document == uri
