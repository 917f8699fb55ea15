from decoder.wire.messages import BufferOpened
from drafting.screening import MAX_BUFFER_CHARACTERS
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import Editor

BIG, FITTING = "untitled:big.py", "untitled:fitting.py"


async def test_a_document_that_is_too_large_is_no_context_which_the_log_says_once_but_it_is_completed(
    editor: Editor, decoder: ScriptedDecoder
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("x" * (MAX_BUFFER_CHARACTERS + 1), uri=BIG)
    editor.open("x" * MAX_BUFFER_CHARACTERS, uri=FITTING)
    for version in (2, 3):
        editor.type(version, 0, 0, "a", uri=BIG)
    editor.ask(1, 0, 2, trigger=1, uri=BIG)
    await editor.item(1)
    assert [opened.document for opened in decoder.of(BufferOpened)] == [FITTING]
    logged = [line["message"] for line in editor.notifications("window/logMessage") if "too large" in line["message"]]
    (sentence,) = logged
    assert BIG in sentence
    assert "400,001" in sentence
