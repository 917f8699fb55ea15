"""What the decoder reads before anybody asks."""

import pytest

from decoder.wire.messages import Answer, BufferClosed, BufferOpened, Complete, Status
from lsp_server.documents import Document
from lsp_server.warm_up import FAR_LINES, FIRST_CHARACTERS, MIN_SECONDS, WarmUp, opening_place
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor

LINES = "x = 1\n" * 400


def document(text: str) -> Document:
    return Document(A, "python", 1, text, encoding="utf-32")


async def flushed(editor: Editor, decoder: ScriptedDecoder) -> None:
    """Until the decoder has read what was sent before: messages keep their order."""
    editor.open("", uri="file:///last.txt")
    while (await decoder.next(BufferOpened)).document != "file:///last.txt":
        pass


def test_an_opened_document_is_read_as_far_as_all_its_places_share() -> None:
    assert opening_place(document("")) == (0, 0)
    assert opening_place(document("a\nb\nc")) == (2, 0)
    line, column = opening_place(document("x" * 99 + "\n" + "y" * 99 + "\n" * 100_000))
    assert (line, column) == (FIRST_CHARACTERS - 198, 0)
    assert opening_place(document("x" * 100_000)) == (0, 0)


def test_far_is_far_from_the_last_place_in_the_same_document() -> None:
    warm_up = WarmUp()
    assert warm_up.at(A, 10)
    assert not warm_up.at(A, 10 + FAR_LINES)
    assert warm_up.at(A, 9)
    assert warm_up.at("file:///b.py", 9)
    assert warm_up.latest == ("file:///b.py", 9)
    assert not warm_up.at(A, 10)
    assert warm_up.latest == (A, 10)
    warm_up.forget(A)
    assert warm_up.latest == ("file:///b.py", 9)


def test_there_is_one_a_second_at_most() -> None:
    warm_up = WarmUp()
    assert [warm_up.due(now) for now in (5.0, 5.0, 5.0 + MIN_SECONDS / 2, 5.0 + MIN_SECONDS)] == [
        True,
        False,
        False,
        True,
    ]


async def test_an_opened_document_is_read_ahead_and_the_answer_is_nobodys(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("a = 1\nb = 2\n")
    request = await decoder.next(Complete)
    assert (request.document, request.prefix, request.trigger) == (A, "a = 1\nb = 2\n", "warm_up")
    assert request.candidates == 1
    editor.ask(1, 2, 0)
    assert (await editor.item(1))["insertText"] == "text"
    assert [asked.trigger for asked in decoder.of(Complete)] == ["warm_up", "automatic"], "a ghost it is not"
    assert list(editor.server.session.reasons) == []


async def test_a_request_that_comes_at_once_is_asked_alone(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("a = 1\n")
    editor.ask(1, 1, 0)
    await editor.item(1)
    assert [asked.trigger for asked in decoder.of(Complete)] == ["automatic"]


async def test_it_supersedes_no_request(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda _request: None
    await editor.begin()
    await editor.until_ready()
    editor.open(LINES)
    editor.ask(1, 0, 5)
    asked = await decoder.next(Complete)
    editor.type(2, 300, 5, "0")
    await flushed(editor, decoder)
    decoder.send(Answer(asked.id, "late"))
    await editor.answer(1)
    assert [request.trigger for request in decoder.of(Complete)] == ["automatic"]


async def test_an_edit_far_from_the_last_place_is_read_ahead_and_one_nearby_is_not(
    editor: Editor, decoder: ScriptedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lsp_server.warm_up.MIN_SECONDS", 0.0)
    await editor.begin()
    await editor.until_ready()
    editor.open(LINES)
    editor.ask(1, 0, 5)
    await editor.item(1)
    editor.type(2, 2, 5, "0")
    await flushed(editor, decoder)
    assert [request.trigger for request in decoder.of(Complete)] == ["automatic"]
    await decoder.next(Complete)
    editor.type(3, 300, 5, "0")
    ahead = await decoder.next(Complete)
    assert (ahead.trigger, ahead.line, ahead.suffix[:2]) == ("warm_up", 300, "0\n")


async def test_a_request_far_away_that_shows_nothing_is_read_ahead(
    editor: Editor, decoder: ScriptedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lsp_server.warm_up.MIN_SECONDS", 0.0)
    await editor.begin()
    await editor.until_ready()
    editor.open("value = 1\n" * 400)
    editor.ask(1, 0, 9)
    await editor.item(1)
    await decoder.next(Complete)
    editor.ask(2, 3, 2)
    assert (await editor.answer(2))["result"] == {"items": []}
    assert len(decoder.of(Complete)) == 1, "inside a word nearby"
    editor.ask(3, 200, 2)
    assert (await editor.answer(3))["result"] == {"items": []}
    ahead = await decoder.next(Complete)
    assert (ahead.trigger, ahead.line, ahead.prefix[-3:]) == ("warm_up", 200, "\nva")


async def test_a_text_that_comes_whole_does_not_tell_where_work_is(
    editor: Editor, decoder: ScriptedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lsp_server.warm_up.MIN_SECONDS", 0.0)
    decoder.reply = lambda request: Answer(request.id, reason="model_wrote_nothing")
    await editor.begin()
    await editor.until_ready()
    editor.open("")
    for version in (2, 3, 4):
        identifier = {"uri": A, "version": version}
        change = {"text": LINES + "x = " + "1" * version}
        editor.say(method="textDocument/didChange", params={"textDocument": identifier, "contentChanges": [change]})
        editor.ask(version, 400, 4 + version)
        await editor.answer(version)
    await flushed(editor, decoder)
    triggers = [asked.trigger for asked in decoder.of(Complete)]
    assert triggers.count("automatic") == 3
    assert triggers.count("warm_up") <= 1, "the first time there"


async def test_an_excluded_document_is_not_where_work_goes_on(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(options={"exclude": ["secret.py"]})
    await editor.until_ready()
    decoder.send(Status("loading", "loading llama"))
    editor.open("c = 1\n")
    editor.open("d = 1\n", uri="file:///secret.py")
    editor.ask(1, 0, 5, uri="file:///secret.py")
    await editor.answer(1)
    assert editor.server.session._warm_up.latest == (A, 1)


async def test_a_decoder_that_becomes_ready_reads_where_work_goes_on(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, reason="loading")
    await editor.begin()
    await editor.until_ready()
    decoder.send(Status("loading", "loading llama"))
    editor.ask(0, 0, 0)
    await editor.notification("draftline/status", len(editor.notifications("draftline/status")))
    editor.open("a = 1\n", uri="file:///b.py")
    editor.open("c = 1\nd")
    await flushed(editor, decoder)
    assert decoder.of(Complete) == [], "a decoder that loads reads nothing"
    editor.say(method="textDocument/didClose", params={"textDocument": {"uri": "file:///last.txt"}})
    assert (await decoder.next(BufferClosed)).document == "file:///last.txt"
    decoder.send(Status("ready", "llama is ready", model="llama"))
    request = await decoder.next(Complete)
    assert (request.document, request.prefix, request.trigger) == (A, "c = 1\n", "warm_up")


@pytest.mark.parametrize(
    ("uri", "options"),
    [("file:///code/.env", {}), (A, {"exclude": ["*.py"]}), (A, {"languages": ["rust"]}), (A, {"enabled": False})],
)
async def test_what_is_not_completed_is_not_read_ahead(
    editor: Editor, decoder: ScriptedDecoder, uri: str, options: dict[str, object]
) -> None:
    await editor.begin(options={})
    await editor.until_ready()
    editor.settings({"draftline": options})
    editor.open("TOKEN=zz-marker\n" * 99, uri=uri)
    editor.type(2, 90, 0, "x", uri)
    await flushed(editor, decoder)
    assert decoder.of(Complete) == []
