"""The cases of what users have reported, through the whole product: a remote server writes, an editor reads."""

from dataclasses import replace
from typing import Any

import pytest

from tests.decoder.scripted_server import ScriptedServer, always, writing
from tests.decoder.test_completion_cases import CASES, P14, Case
from tests.journeys.remote_desk import Desk, ask, taken, until

URI = "file:///project/a.js"

MORE_CASES = [
    Case("P14", "python", P14 + " " * 8 + "▮", "    return c", P14 + "    return c"),
    Case("P20", "python", 's = "😀漢字" + ▮\n', "t\n", 's = "😀漢字" + t\n'),
    Case("P21", "python", "μ" * 20_000 + "\nx = ▮\n", "1\n", "μ" * 20_000 + "\nx = 1\n"),
    Case("P21 half", "python", "s = '▮\n", "é\ud83d", "s = 'é\n"),
    Case(
        "P26 eos",
        "python",
        "def f():\n    ▮\n\ng()\n",
        "return x<|end_of_text|>junk",
        "def f():\n    return x\n\ng()\n",
    ),
]


def kinds(case: Case) -> list[Case]:
    """The case, with LF and CRLF, and with a model that counts a blank line from its first column."""
    typed = case.document.partition("▮")[0].rpartition("\n")[2]
    is_whole_line = bool(typed) and not typed.strip() and not case.written.startswith(("```", "    return c"))
    written = (case.written, typed + case.written) if is_whole_line else (case.written,)
    ends = (case.document, case.document.replace("\n", "\r\n"))
    return [replace(case, document=document, written=text) for document in ends for text in written]


async def test_the_cases_as_an_editor_reads_them(office: Desk, server: ScriptedServer) -> None:
    listed = [case for case in CASES if "half a character" not in case.name]  # which is one of tokens
    async with office.window() as client:
        await until(client, "ready")
        for number, kind in enumerate(kind for case in (*listed, *MORE_CASES) for kind in kinds(case)):
            server.script = always(writing(kind.written, size=7))
            assert await taken(client, kind, f"file:///cases/{number}") == kind.read, kind
    for asked in server.asked:
        assert "\r" not in asked.body["prompt"]
        assert "\ufffd" not in asked.body["prompt"]
        assert not asked.body["prompt"].endswith("    "), "no model can go back to the left"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_p20_in_each_position_encoding(office: Desk, server: ScriptedServer, encoding: str) -> None:
    server.script = always(writing("t\n"))
    before = 's = "😀漢字" + '
    column = {"utf-8": len(before.encode()), "utf-16": len(before) + 1, "utf-32": len(before)}[encoding]
    async with office.window(encoding=encoding) as client:
        await until(client, "ready")
        client.open(URI, before + "\n")
        (item,) = await ask(client, URI, 0, column)
    place = {"line": 0, "character": column}
    assert (item["insertText"], item["range"]) == ("t", {"start": place, "end": place})
    assert server.asked[0].body["prompt"] == before


async def test_p05_a_popup_entry_that_is_selected_and_then_taken(office: Desk, server: ScriptedServer) -> None:
    server.script = lambda asked: writing('("hi")\n' if asked.body["prompt"].endswith("console.log") else "log(1)\n")
    async with office.window() as client:
        await until(client, "ready")
        dot = {"start": {"line": 1, "character": 7}, "end": {"line": 1, "character": 8}}
        selected = Case("", "javascript", "// log\nconsole.▮\n", "", "")
        entry: Any = {"selectedCompletionInfo": {"text": ".log", "range": dot}}
        assert await taken(client, selected, URI, **entry) == '// log\nconsole.log("hi")\n'
        accepted = replace(selected, document="// log\nconsole.log▮\n")
        assert await taken(client, accepted, URI) == '// log\nconsole.log("hi")\n'


async def test_p10_the_line_that_was_just_accepted_is_not_offered_again(office: Desk, server: ScriptedServer) -> None:
    server.script = always(writing('log.info("start")\n'))
    async with office.window() as client:
        await until(client, "ready")
        client.open(URI, "import log\n")
        (item,) = await ask(client, URI, 1, 0)
        client.insert(URI, 2, 1, 0, item["insertText"])
        await client.request("workspace/executeCommand", {**item["command"]})
        client.insert(URI, 3, 1, 17, "\n")
        assert await ask(client, URI, 2, 0) == []
        (again,) = await ask(client, URI, 2, 0, invoked=True)
        assert again["insertText"] == 'log.info("start")'


async def test_p17_prompts_with_quotes_from_other_files_have_no_cr(office: Desk, server: ScriptedServer) -> None:
    server.script = always(writing("return 1;\n    }\n}\n"))
    other = "class Quoted {\n    int g() {\n        return f() + 1;\n    }\n}\n"
    case = Case("", "java", "class A {\n    int f() {\n        ▮\n    }\n}\n", "", "")
    read = []
    async with office.window() as client:
        await until(client, "ready")
        for end in ("\n", "\r\n"):
            project = f"file:///p{len(end)}"
            client.open(f"{project}/B.java", other.replace("\n", end), language="java")
            ended = replace(case, document=case.document.replace("\n", end))
            read.append(await taken(client, ended, f"{project}/A.java"))
            client.notify("textDocument/didClose", {"textDocument": {"uri": f"{project}/B.java"}})
    assert read == ["class A {\n    int f() {\n        return 1;\n    }\n}\n"] * 2
    lf, crlf = (asked.body["prompt"] for asked in server.asked)
    assert lf == crlf
    assert "Quoted" in lf


async def test_p30_odd_documents_are_answered(office: Desk, server: ScriptedServer) -> None:
    server.script = always(writing("1\n"))
    async with office.window() as client:
        await until(client, "ready")
        client.open("untitled:Untitled-1", "")
        assert await ask(client, "untitled:Untitled-1", 0, 0) == []
        client.open(URI, "x = ")
        for line, character in ((0, 4), (0, 99), (9, 9)):
            (item,) = await ask(client, URI, line, character)
            assert item["range"]["start"] == {"line": 0, "character": 4}
        cells = [f"vscode-notebook-cell:/n.ipynb#{number}" for number in range(3)]
        texts = ["import before\n", "y = ", "after = 2\n"]
        client.notify(
            "notebookDocument/didOpen",
            {
                "notebookDocument": {
                    "uri": "file:///n.ipynb",
                    "notebookType": "jupyter-notebook",
                    "version": 1,
                    "cells": [{"kind": 2, "document": cell} for cell in cells],
                },
                "cellTextDocuments": [
                    {"uri": cell, "languageId": "python", "version": 1, "text": text}
                    for cell, text in zip(cells, texts, strict=True)
                ],
            },
        )
        (item,) = await ask(client, cells[1], 0, 4)
        assert item["insertText"] == "1"
    assert server.asked[-1].body["prompt"].endswith("import before\n\ny = ")
