"""Settings that come while the server runs: pushed by the editor, or asked for; from any editor, also a faulty one."""

import asyncio
from typing import Any

import pytest

from decoder.wire.messages import Complete
from lsp_server import questions
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import Editor

ASKABLE = {"workspace": {"configuration": True}}
REGISTERS = {"workspace": {"didChangeConfiguration": {"dynamicRegistration": True}}}


async def max_tokens(editor: Editor, decoder: ScriptedDecoder) -> int:
    """What the decoder is asked for now."""
    editor.open("", uri=f"file:///{len(editor.said)}.py")
    editor.ask(f"ask {len(editor.said)}", 0, 0, uri=f"file:///{len(editor.said)}.py")
    return (await decoder.next(Complete)).max_tokens


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def warnings(editor: Editor) -> list[str]:
    return [shown["message"] for shown in editor.notifications("window/showMessage") if shown["type"] == 2]


async def test_pushed_settings_count_from_then_on(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(options={"maxTokens": 5})
    await editor.until_ready()
    assert await max_tokens(editor, decoder) == 5
    editor.settings({"draftline": {"maxTokens": 7}})
    assert await max_tokens(editor, decoder) == 7
    editor.settings({"other": 1})
    editor.settings(None)
    assert await max_tokens(editor, decoder) == 7, "who cannot be asked has said nothing"
    editor.settings({"draftline": {}})
    assert await max_tokens(editor, decoder) == 5, "what was set at the start is what lies below"


async def test_an_editor_that_cannot_be_asked_is_not(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.settings(None)
    await settle()
    assert not [message for message in editor.said if "method" in message and "id" in message]
    assert decoder.received


async def test_the_settings_are_asked_for_before_the_decoder_is_connected(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin(options={"maxTokens": 5}, capabilities=ASKABLE)
    question = await editor.question("workspace/configuration")
    assert question["params"] == {"items": [{"section": "draftline"}]}
    await settle()
    assert not decoder.received, "a document that they exclude could be sent"
    editor.say(id=question["id"], result=[{"maxTokens": 9}])
    await editor.until_ready()
    assert await max_tokens(editor, decoder) == 9


@pytest.mark.parametrize("change", [None, {}, {"other": 1}, []])
async def test_a_change_without_its_content_is_asked_for(editor: Editor, decoder: ScriptedDecoder, change: Any) -> None:
    await editor.begin(capabilities=ASKABLE)
    editor.say(id=(await editor.question("workspace/configuration"))["id"], result=[None])
    await editor.until_ready()
    assert await max_tokens(editor, decoder) == 64
    editor.settings(change)
    editor.say(id=(await editor.question("workspace/configuration", 1))["id"], result=[{"maxTokens": 3}])
    assert await max_tokens(editor, decoder) == 3


async def test_the_newest_settings_win_whatever_comes_last(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(capabilities=ASKABLE)
    first = await editor.question("workspace/configuration")
    editor.settings(None)
    second = await editor.question("workspace/configuration", 1)
    editor.say(id=second["id"], result=[{"maxTokens": 2}])
    editor.say(id=first["id"], result=[{"maxTokens": 1}])
    await editor.until_ready()
    assert await max_tokens(editor, decoder) == 2
    editor.settings(None)
    third = await editor.question("workspace/configuration", 2)
    editor.settings({"draftline": {"maxTokens": 4}})
    editor.say(id=third["id"], result=[{"maxTokens": 3}])
    assert await max_tokens(editor, decoder) == 4


@pytest.mark.parametrize(
    "answer",
    [
        {"result": None},
        {"result": []},
        {"result": {"maxTokens": 1}},
        {"result": [None, {"maxTokens": 1}]},
        {"result": [[]]},
        {"error": {"code": -32601, "message": "unknown"}},
        {"error": 5},
        {"error": None, "result": [None]},
        {},
    ],
)
async def test_an_answer_without_settings_leaves_those_of_the_start(
    editor: Editor, decoder: ScriptedDecoder, answer: dict[str, Any]
) -> None:
    await editor.begin(options={"maxTokens": 5}, capabilities=ASKABLE)
    editor.say(id=(await editor.question("workspace/configuration"))["id"], **answer)
    await editor.until_ready()
    assert await max_tokens(editor, decoder) == 5
    assert not warnings(editor)


async def test_an_editor_that_never_answers_gets_completions(
    editor: Editor, decoder: ScriptedDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "PATIENCE_SECONDS", 0.05)
    await editor.begin(capabilities=ASKABLE)
    question = await editor.question("workspace/configuration")
    await editor.until_ready()
    editor.say(id=question["id"], result=[{"maxTokens": 1}])  # too late
    editor.say(id=question["id"], result=[{"maxTokens": 1}])
    assert await max_tokens(editor, decoder) == 64
    assert not editor.server.protocol.questions._open


async def test_an_editor_that_shuts_down_instead_of_answering_is_not_waited_for(editor: Editor) -> None:
    await editor.begin(capabilities=ASKABLE)
    await editor.question("workspace/configuration")
    editor.say(id=1, method="shutdown")
    assert (await editor.answer(1))["result"] is None
    editor.say(method="exit")
    assert editor.exit_codes == [0]
    await settle()
    assert not editor.server.protocol.questions._open


async def test_changes_are_registered_for_where_the_editor_wants_that(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(capabilities=REGISTERS)
    question = await editor.question("client/registerCapability")
    (registration,) = question["params"]["registrations"]
    assert registration["method"] == "workspace/didChangeConfiguration"
    assert registration["registerOptions"] == {"section": "draftline"}
    editor.say(id=question["id"], error={"code": -32601, "message": "no"})
    await editor.until_ready()
    assert await max_tokens(editor, decoder) == 64


async def test_an_exotic_capability_beside_them_takes_none_of_this_away(editor: Editor) -> None:
    exotic = {"workspaceEdit": {"resourceOperations": ["teleport"]}}
    await editor.begin(capabilities={"workspace": {**exotic, **ASKABLE["workspace"], **REGISTERS["workspace"]}})
    editor.say(id=(await editor.question("workspace/configuration"))["id"], result=[None])
    assert (await editor.question("client/registerCapability"))["params"]["registrations"]


async def test_what_is_not_understood_is_shown_once(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin(options={"maxTokens": "many", "speed": 9, "gamma": 3})
    editor.settings({"draftline": {"maxTokens": "many"}})
    editor.settings({"draftline": {"speed": 10, "draft": "lookup"}})
    editor.settings({"draftline": {"speed": 9}})
    await editor.until_ready()
    shown = warnings(editor)
    assert len(shown) == 3
    for word in ("maxTokens", "speed", "config.toml"):
        assert any(word in message for message in shown)
    assert decoder.received


async def test_switched_off_it_pauses_and_switched_on_again_it_connects(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin(options={"enabled": False})
    assert (await editor.notification("draftline/status"))["state"] == "paused"
    assert not decoder.received
    editor.settings({"draftline": {"enabled": True}})
    await editor.until_ready()
    editor.settings({"draftline": {"enabled": False}})
    editor.settings({"draftline": {"enabled": False, "maxTokens": 3}})
    editor.settings({"draftline": {"enabled": True}})
    await settle()
    states = [told["state"] for told in editor.notifications("draftline/status")]
    assert states[states.index("ready") :] == ["ready", "paused", "ready"]
