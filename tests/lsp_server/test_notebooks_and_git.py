from pathlib import Path

from decoder.wire.messages import BufferOpened
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import Editor
from tests.lsp_server.repository import repository


async def test_the_cells_of_a_notebook_that_git_ignores_are_excluded_too(
    editor: Editor, decoder: ScriptedDecoder, tmp_path: Path
) -> None:
    project = repository(tmp_path, "local.ipynb")
    local, main = (f"vscode-notebook-cell:{project.as_posix()}/{name}.ipynb#W0sZmlsZQ" for name in ("local", "main"))
    await editor.begin()
    await editor.until_ready()
    editor.open("KEY = ", uri=local)
    editor.open("x = ", uri=main)
    editor.ask(1, 0, 6, trigger=1, uri=local)
    editor.ask(2, 0, 4, trigger=1, uri=main)
    assert (await editor.answer(1))["result"] == {"items": []}
    assert (await editor.item(2))["insertText"] == "text"
    assert [opened.document for opened in decoder.of(BufferOpened)] == [main]
