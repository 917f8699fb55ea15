"""How loading is shown: only to editors that can show it, and never at the cost of anything else."""

import asyncio
from typing import Any

import pytest

from decoder.wire.messages import Status
from lsp_server import questions
from lsp_server.progress import LoadingProgress
from lsp_server.questions import Questions
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import Editor

SHOWS = {"window": {"workDoneProgress": True}}
CREATE = "window/workDoneProgress/create"
READY = Status("ready", "llama is ready", model="llama")


def values(editor: Editor) -> list[dict[str, Any]]:
    return [shown["value"] for shown in editor.notifications("$/progress")]


@pytest.fixture
def loading(decoder: ScriptedDecoder) -> ScriptedDecoder:
    """A decoder that has begun to load."""
    decoder._status = Status("loading", "loading llama")
    return decoder


async def until(editor: Editor, state: str) -> None:
    await editor._until(lambda: any(told["state"] == state for told in editor.notifications("draftline/status")))


async def test_loading_is_shown_from_begin_to_end(editor: Editor, loading: ScriptedDecoder) -> None:
    await editor.begin(capabilities=SHOWS)
    question = await editor.question(CREATE)
    editor.say(id=question["id"], result=None)
    await editor.notification("$/progress")
    loading.send(Status("loading", "preparing llama in int8: 40 %"), READY)
    await editor.until_ready()
    begin, *reports, end = values(editor)
    assert {shown["token"] for shown in editor.notifications("$/progress")} == {question["params"]["token"]}
    assert (begin["kind"], begin["title"]) == ("begin", "draftline")
    assert {"kind": "report", "message": "preparing llama in int8: 40 %", "percentage": 40} in reports
    assert end == {"kind": "end", "message": "llama is ready"}


async def test_an_editor_that_cannot_show_progress_is_not_asked(editor: Editor, loading: ScriptedDecoder) -> None:
    await editor.begin()
    await until(editor, "loading")
    loading.send(READY)
    await editor.until_ready()
    assert not editor.asked(CREATE)
    assert not editor.notifications("$/progress")


async def test_one_that_refuses_is_not_asked_again(editor: Editor, loading: ScriptedDecoder) -> None:
    await editor.begin(capabilities=SHOWS)
    editor.say(id=(await editor.question(CREATE))["id"], error={"code": -32601, "message": "no"})
    for share in range(3):
        loading.send(Status("loading", f"preparing: {share} %"))
    loading.send(READY)
    await editor.until_ready()
    assert len(editor.asked(CREATE)) == 1
    assert not editor.notifications("$/progress")


async def test_one_that_never_answers_keeps_nothing_waiting(
    editor: Editor, loading: ScriptedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "PATIENCE_SECONDS", 0.02)
    await editor.begin(capabilities=SHOWS)
    question = await editor.question(CREATE)
    editor.open("")
    editor.ask(1, 0, 0)
    await editor.answer(1)
    await asyncio.sleep(0.03)
    editor.say(id=question["id"], result=None)  # too late
    loading.send(READY)
    await editor.until_ready()
    assert not editor.notifications("$/progress")


async def test_what_is_loaded_before_the_editor_has_answered_is_not_shown(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin(capabilities=SHOWS)
    question = await editor.question(CREATE)
    await editor.until_ready()
    editor.say(id=question["id"], result=None)
    await asyncio.sleep(0.01)
    assert not editor.notifications("$/progress")
    assert decoder.received


async def test_loading_again_is_a_progress_of_its_own() -> None:
    said: list[dict[str, Any]] = []
    shown: list[str] = []
    open_questions = Questions(said.append)
    progress = LoadingProgress(open_questions, lambda _method, params: shown.append(params.value.kind), is_wanted=True)
    for number, last in enumerate(("ready", "error")):
        progress.follow(Status("loading", "loading"))
        await asyncio.sleep(0)
        open_questions.answered({"id": said[number]["id"], "result": None})
        await asyncio.sleep(0.01)
        progress.follow(Status(last, "done"))  # type: ignore[arg-type]
        progress.follow(Status("ready", "done"))
    assert shown == ["begin", "end"] * 2
    assert said[0]["params"].token != said[1]["params"].token
