"""Why nothing appeared, for the editor: the command `draftline.explain`, and the state at the time."""

from decoder.wire.messages import Answer, Silence
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import A, Editor


async def test_every_empty_answer_is_explained_the_newest_first(editor: Editor, decoder: ScriptedDecoder) -> None:
    decoder.reply = lambda request: Answer(request.id, reason="model_wrote_nothing")
    await editor.begin(options={"languages": ["!rust"]})
    await editor.until_ready()
    editor.open("x = ")
    editor.ask(1, 0, 4)
    await editor.answer(1)
    editor.open("x", language="rust", uri="file:///b.rs")
    editor.ask(2, 0, 1, uri="file:///b.rs")
    await editor.answer(2)
    explained = await editor.explained(editor.server.explain_command)
    assert explained["status"] == {"state": "ready", "message": "llama is ready", "model": "llama"}
    newest, oldest = explained["reasons"]
    assert (newest["uri"], newest["reason"]) == ("file:///b.rs", "suppressed:language: rust")
    assert (oldest["uri"], oldest["reason"]) == (A, "model_wrote_nothing")
    assert "`languages` leaves rust out" in newest["sentence"]
    assert "type on" in oldest["sentence"]
    assert 0 <= newest["secondsAgo"] <= oldest["secondsAgo"] < 5
    assert (await decoder.next(Silence)).reason == newest["reason"], "`draftline explain` knows it as well"


async def test_what_was_shown_needs_no_explanation(editor: Editor, decoder: ScriptedDecoder) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("x = ")
    editor.ask(1, 0, 4)
    await editor.item(1)
    assert (await editor.explained())["reasons"] == []
    assert decoder.received


async def test_without_a_decoder_the_state_names_the_remedy(editor: Editor) -> None:
    await editor.begin()
    editor.open("x = ")
    for id in (1, 2):
        editor.ask(id, 0, 4)
        await editor.answer(id)
    explained = await editor.explained()
    assert explained["status"]["remedy"] == "run `draftline doctor`"
    assert explained["reasons"][0]["reason"] == "decoder_unavailable"
