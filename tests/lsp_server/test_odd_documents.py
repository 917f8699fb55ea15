"""Odd documents and places get a valid answer: a range on the cursor's line, around the cursor."""

from typing import Any

import pytest

from decoder.wire.messages import BufferOpened, Complete
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import Editor

UNTITLED = "untitled:Untitled-1"
NOTEBOOK = "file:///n.ipynb"
PYTHON, TEXT = 2, 1
FAR = 2**31 - 1


def place(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def asked(decoder: ScriptedDecoder) -> Complete:
    """The latest completion that an editor asked for; the server has some text read ahead."""
    return next(request for request in reversed(decoder.of(Complete)) if request.trigger != "warm_up")


@pytest.fixture
async def ready(editor: Editor, decoder: ScriptedDecoder) -> tuple[Editor, ScriptedDecoder]:
    can: dict[str, Any] = {"notebookDocument": {"synchronization": {}}}
    await editor.begin(capabilities=can)
    await editor.until_ready()
    return editor, decoder


@pytest.mark.parametrize(
    ("text", "line", "character", "at", "prefix"),
    [
        ("", 0, 0, place(0, 0), ""),
        ("", 7, 7, place(0, 0), ""),
        ("x = ", 0, 4, place(0, 4), "x = "),
        ("a\nx = ", 1, 4, place(1, 4), "a\nx = "),
        ("a\n    \nb", 1, 4, place(1, 4), "a\n    "),
        ("a = \nb", 0, FAR, place(0, 4), "a = "),
        ("a = \r\nb", 0, 5, place(0, 4), "a = "),
        ("a\nb = ", FAR, 0, place(1, 4), "a\nb = "),
        ("a\n", 1, 9, place(1, 0), "a\n"),
        ("é😀 = \n", 0, 99, place(0, 6), "é😀 = "),
    ],
)
async def test_a_place_beyond_the_text_is_the_nearest_one_in_it(
    ready: tuple[Editor, ScriptedDecoder], text: str, line: int, character: int, at: Any, prefix: str
) -> None:
    editor, decoder = ready
    editor.open(text, uri=UNTITLED)
    editor.ask(1, line, character, trigger=1, uri=UNTITLED)
    item = await editor.item(1)
    assert (item["insertText"], item["range"]) == ("text", {"start": at, "end": at})
    assert asked(decoder).prefix == prefix


@pytest.mark.parametrize("position", [place(-1, 0), place(0, -1), place(FAR + 1, 0), {"line": 0}, {"line": "x"}, None])
async def test_what_is_no_place_is_refused_and_breaks_nothing(
    ready: tuple[Editor, ScriptedDecoder], position: Any
) -> None:
    editor, _ = ready
    editor.open("x = ")
    params = {"textDocument": {"uri": "file:///a.py"}, "position": position, "context": {"triggerKind": 1}}
    editor.say(id=1, method="textDocument/inlineCompletion", params=params)
    assert await editor.code(1) == -32602
    editor.ask(2, 0, 4, trigger=1)
    assert (await editor.item(2))["insertText"] == "text"


@pytest.mark.parametrize("trigger", [1, 2])
async def test_an_untitled_document_is_completed_as_any_other(
    ready: tuple[Editor, ScriptedDecoder], trigger: int
) -> None:
    editor, decoder = ready
    editor.open("", uri=UNTITLED)
    editor.type(2, 0, 0, "x = ", uri=UNTITLED)
    editor.ask(1, 0, 4, trigger=trigger, uri=UNTITLED)
    assert (await editor.item(1))["range"] == {"start": place(0, 4), "end": place(0, 4)}
    assert (await decoder.next(BufferOpened)).document == UNTITLED


# Notebooks


def named(number: int) -> str:
    return f"vscode-notebook-cell:/n.ipynb#W{number}sZmlsZQ%3D%3D"


def cell(number: int, kind: int = PYTHON) -> dict[str, Any]:
    return {"kind": kind, "document": named(number)}


def opened(number: int, text: str, language: str = "python") -> dict[str, Any]:
    return {"uri": named(number), "languageId": language, "version": 1, "text": text}


def open_notebook(editor: Editor) -> None:
    notebook = {"uri": NOTEBOOK, "notebookType": "jupyter-notebook", "version": 1}
    cells = [cell(0), cell(1, TEXT), cell(2), cell(3)]
    texts = [opened(0, "import x"), opened(1, "# A title", "markdown"), opened(2, "y = "), opened(3, "z = 3\n")]
    params = {"notebookDocument": notebook | {"cells": cells}, "cellTextDocuments": texts}
    editor.say(method="notebookDocument/didOpen", params=params)


def change_notebook(editor: Editor, cells: Any) -> None:
    params = {"notebookDocument": {"uri": NOTEBOOK, "version": 2}, "change": {"cells": cells}}
    editor.say(method="notebookDocument/didChange", params=params)


async def test_notebooks_are_followed_where_the_client_can_tell_of_them(editor: Editor) -> None:
    capabilities = await editor.begin(capabilities={"notebookDocument": {"synchronization": {}}})
    assert capabilities["notebookDocumentSync"] == {"notebookSelector": [{"notebook": "*"}]}


async def test_other_clients_hear_nothing_of_it(editor: Editor) -> None:
    assert "notebookDocumentSync" not in await editor.begin()


async def test_a_cell_is_asked_for_with_the_code_before_and_after_it_and_answered_in_its_own_lines(
    ready: tuple[Editor, ScriptedDecoder],
) -> None:
    editor, decoder = ready
    open_notebook(editor)
    editor.ask(1, 0, 99, trigger=1, uri=named(2))
    assert (await editor.item(1))["range"] == {"start": place(0, 4), "end": place(0, 4)}
    request = asked(decoder)
    assert (request.prefix, request.suffix) == ("import x\n\ny = ", "\n\nz = 3\n")
    assert (request.document, request.line) == (named(2), 0)


async def test_cells_are_edited_added_and_removed(ready: tuple[Editor, ScriptedDecoder]) -> None:
    editor, decoder = ready
    open_notebook(editor)
    array = {"start": 3, "deleteCount": 1, "cells": [cell(4)]}
    structure = {"array": array, "didOpen": [opened(4, "w = ")], "didClose": [{"uri": named(3)}]}
    edit = {"range": {"start": place(0, 4), "end": place(0, 4)}, "text": "2"}
    content = {"document": {"uri": named(2), "version": 2}, "changes": [edit]}
    change_notebook(editor, {"structure": structure, "textContent": [content]})
    editor.ask(1, 0, 4, trigger=1, uri=named(4))
    await editor.item(1)
    assert asked(decoder).prefix == "import x\n\ny = 2\n\nw = "
    editor.ask(2, 0, 0, trigger=1, uri=named(3))
    assert (await editor.answer(2))["result"] == {"items": []}


async def test_a_closed_notebook_is_forgotten(ready: tuple[Editor, ScriptedDecoder]) -> None:
    editor, decoder = ready
    open_notebook(editor)
    closed = [{"uri": named(number)} for number in range(4)]
    editor.say(
        method="notebookDocument/didClose",
        params={"notebookDocument": {"uri": NOTEBOOK}, "cellTextDocuments": closed},
    )
    editor.ask(1, 0, 4, trigger=1, uri=named(2))
    assert (await editor.answer(1))["result"] == {"items": []}
    assert all(request.trigger == "warm_up" for request in decoder.of(Complete))


async def test_cells_that_are_only_opened_are_put_in_order(ready: tuple[Editor, ScriptedDecoder]) -> None:
    editor, decoder = ready
    for number, text in ((2, "y = "), (0, "import x"), (3, "z = 3\n")):
        editor.open(text, uri=named(number))
    editor.open("# A title", uri=named(1), language="markdown")
    editor.ask(1, 0, 4, trigger=1, uri=named(2))
    await editor.item(1)
    request = asked(decoder)
    assert (request.prefix, request.suffix) == ("import x\n\ny = ", "\n\nz = 3\n")


async def test_an_excluded_cell_is_in_no_other_cells_prompt(ready: tuple[Editor, ScriptedDecoder]) -> None:
    editor, decoder = ready
    editor.open("KEY = 1", uri="vscode-notebook-cell:/.env#W0sZmlsZQ%3D%3D")
    editor.open("x = ", uri="vscode-notebook-cell:/.env#W1sZmlsZQ%3D%3D")
    editor.open("y = ", uri=named(0))
    editor.ask(1, 0, 4, trigger=1, uri="vscode-notebook-cell:/.env#W1sZmlsZQ%3D%3D")
    assert (await editor.answer(1))["result"] == {"items": []}
    editor.ask(2, 0, 4, trigger=1, uri=named(0))
    await editor.item(2)
    assert asked(decoder).prefix == "y = "
