"""A cell is completed as what comes after the cells before it."""

from collections.abc import Iterable

import pytest
from lsprotocol import types
from lsprotocol.types import NotebookCell, NotebookCellKind, NotebookDocument, NotebookDocumentCellChanges

from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS
from lsp_server.documents import Document
from lsp_server.notebooks import Notebooks

NOTEBOOK = "file:///n.ipynb"
CODE, MARKDOWN = NotebookCellKind.Code, NotebookCellKind.Markup


def cell(name: str, kind: NotebookCellKind = CODE) -> NotebookCell:
    return NotebookCell(kind=kind, document=name)


def document(uri: str, text: str, language: str = "python") -> Document:
    return Document(uri, language, 1, text, encoding="utf-16")


def documents(**texts: str) -> dict[str, Document]:
    return {name: document(name, text) for name, text in texts.items()}


def notebook(mirrors: dict[str, Document], cells: Iterable[NotebookCell] | None = None) -> Notebooks:
    notebooks = Notebooks(mirrors)
    cells = [cell(name) for name in mirrors] if cells is None else list(cells)
    notebooks.open(NotebookDocument(uri=NOTEBOOK, notebook_type="jupyter", version=1, cells=cells))
    return notebooks


def moved(start: int, num_deleted: int, *cells: NotebookCell) -> NotebookDocumentCellChanges:
    array = types.NotebookCellArrayChange(start=start, delete_count=num_deleted, cells=list(cells))
    return NotebookDocumentCellChanges(structure=types.NotebookDocumentCellChangeStructure(array=array))


def test_the_cells_before_and_after_are_a_blank_line_apart() -> None:
    notebooks = notebook(documents(a="import x\n", b="y = 1", c="", d="z = 2\n", e="w = 3"))
    assert notebooks.before("d") == "import x\n\ny = 1\n\n"
    assert notebooks.after("b") == "\n\nz = 2\n\nw = 3"
    assert notebooks.after("c") == "\nz = 2\n\nw = 3"
    assert notebooks.before("a") == notebooks.after("e") == ""


def test_line_ends_are_the_cells_own() -> None:
    notebooks = notebook(documents(a="1\r\n2", b="3\r4\r", c=""))
    assert notebooks.before("c") == "1\r\n2\r\n\r\n3\r4\r\r"
    assert notebooks.after("a") == "\r\n\r\n3\r4\r"


def test_other_languages_and_text_are_left_out_but_for_text_itself() -> None:
    mirrors = documents(a="1", e="5") | {
        "b": document("b", "# Title", "markdown"),
        "c": document("c", "SELECT 3", "sql"),
        "d": document("d", "# not run", "python"),
    }
    kinds = {"b": MARKDOWN, "d": MARKDOWN}
    notebooks = notebook(mirrors, [cell(name, kinds.get(name, CODE)) for name in "abcde"])
    assert notebooks.before("e") == "1\n\n"
    assert notebooks.after("a") == "\n\n5"
    assert notebooks.before("c") == notebooks.before("b") == notebooks.after("d") == ""


def test_what_is_typed_in_a_cell_is_seen_from_the_others() -> None:
    mirrors = documents(a="1", b="2")
    notebooks = notebook(mirrors)
    mirrors["a"].apply([types.TextDocumentContentChangeWholeDocument(text="one")], 2)
    assert notebooks.before("b") == "one\n\n"


def test_cells_come_go_and_move() -> None:
    mirrors = documents(a="1", b="2", c="3", d="4")
    notebooks = notebook(mirrors, [cell("a"), cell("d")])
    notebooks.change(NOTEBOOK, moved(1, 0, cell("b"), cell("c")))
    assert notebooks.before("d") == "1\n\n2\n\n3\n\n"
    notebooks.change(NOTEBOOK, moved(0, 1))
    notebooks.change(NOTEBOOK, moved(0, 2, cell("c"), cell("b")))
    assert notebooks.before("d") == "3\n\n2\n\n"
    assert notebooks.before("a") == "", "it is no longer in the notebook"
    notebooks.change(NOTEBOOK, moved(99, 99, cell("a")))
    assert notebooks.before("a") == "3\n\n2\n\n4\n\n"


def test_code_becomes_text_and_text_code() -> None:
    notebooks = notebook(documents(a="1", b="2", c="3"), [cell("a"), cell("b", MARKDOWN), cell("c")])
    notebooks.change(NOTEBOOK, NotebookDocumentCellChanges(data=[cell("a", MARKDOWN), cell("b", CODE)]))
    assert notebooks.before("c") == "2\n\n"


def test_a_cell_whose_text_may_not_be_used_or_is_unknown_is_passed_over() -> None:
    notebooks = notebook(documents(a="1", c="3"), [cell("a"), cell("b"), cell("c")])
    assert notebooks.before("c") == "1\n\n"
    assert notebooks.before("b") == notebooks.after("b") == ""


def test_a_closed_notebook_an_unknown_one_and_a_file_have_no_cells() -> None:
    notebooks = notebook(documents(a="1", b="2"))
    notebooks.change("file:///other.ipynb", moved(0, 0, cell("b")))
    assert notebooks.before("b") == "1\n\n"
    notebooks.close(NOTEBOOK)
    notebooks.close("file:///other.ipynb")
    assert notebooks.before("b") == ""
    assert notebooks.before("file:///a.py") == ""


def test_only_whole_lines_nearest_to_the_cell_are_taken_and_not_more_than_travel() -> None:
    many = "".join(f"{number:>9}\n" for number in range(10_000))
    notebooks = notebook(documents(a=many, b="", c=many))
    before, after = notebooks.before("b"), notebooks.after("b")
    assert (many + "\n").endswith(before)
    assert ("\n" + many).startswith(after)
    assert before[:10].strip().isdecimal()
    assert PREFIX_CHARACTERS - 10 <= len(before) <= PREFIX_CHARACTERS
    assert SUFFIX_CHARACTERS - 10 <= len(after) <= SUFFIX_CHARACTERS


# Clients that only open the cells, one by one


def named(number: str, path: str = "/n.ipynb") -> str:
    return f"vscode-notebook-cell:{path}#{number}sZmlsZQ%3D%3D"


def opened(*uris: str) -> Notebooks:
    return Notebooks({uri: document(uri, str(place)) for place, uri in enumerate(uris)})


def test_cells_are_in_the_order_of_the_numbers_that_vs_code_gives_them() -> None:
    notebooks = opened(named("X10"), named("W2"), named("W0"), named("X11"))
    assert notebooks.before(named("X11")) == "2\n\n1\n\n0\n\n"
    assert notebooks.after(named("W2")) == "\n\n0\n\n3"


def test_cells_without_such_a_number_are_in_the_order_in_which_they_were_opened() -> None:
    first, second = "vscode-notebook-cell:/n.ipynb#ch0002", "vscode-notebook-cell:/n.ipynb#ch0001"
    assert opened(first, second).before(second) == "0\n\n"


@pytest.mark.parametrize(
    "other", [named("W0", "/m.ipynb"), "file:///n.ipynb#W0s", "vscode-notebook-cell:/n.ipynb", "file:///n.ipynb"]
)
def test_cells_of_another_notebook_and_files_are_none_of_this(other: str) -> None:
    notebooks = opened(other, named("W1"))
    assert notebooks.before(named("W1")) == notebooks.after(other) == notebooks.before(other) == ""


def test_cells_of_text_are_left_out_there_too() -> None:
    mirrors = {uri: document(uri, "1") for uri in (named("W0"), named("W2"))}
    mirrors[named("W1")] = document(named("W1"), "# Title", "markdown")
    mirrors[named("W3")] = document(named("W3"), "# Title", "markdown")
    assert Notebooks(mirrors).before(named("W2")) == "1\n\n"
    assert Notebooks(mirrors).before(named("W3")) == ""
