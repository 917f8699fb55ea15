"""What stands before and after a notebook's cell. The texts are the mirrors', in which each cell is a document."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain, pairwise

from lsprotocol.types import NotebookCell, NotebookCellKind, NotebookDocument, NotebookDocumentCellChanges

from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS
from lsp_server.documents import Document

_CELL_SCHEME = "vscode-notebook-cell:"

_CELL_NUMBER = re.compile(r"[W-Za-fz]([0-6]+)s")
"""How the fragment of VS Code's cells begins: a letter for the length, and the cell's number in base 7."""


class Notebooks:
    """The order of cells in the open notebooks.

    A client tells it with `notebookDocument/...` (LSP 3.17). One that only opens cells, named as VS Code does, leaves
    it to be guessed: by their numbers, which tell the order in which they were made, or else as they were opened.
    """

    def __init__(self, documents: Mapping[str, Document]) -> None:
        """documents: all whose text may be used, by URI, as they were opened; kept up to date by their owner."""
        self._documents = documents
        self._cells: dict[str, list[NotebookCell]] = {}

    def open(self, notebook: NotebookDocument) -> None:
        """A notebook has been opened; one open already is replaced."""
        self._cells[notebook.uri] = list(notebook.cells)

    def change(self, uri: str, changes: NotebookDocumentCellChanges) -> None:
        """Cells of a notebook were added, removed, moved or made another kind; what they say is in the documents."""
        cells = self._cells.get(uri, [])
        if changes.structure is not None:
            array = changes.structure.array
            cells[array.start : array.start + array.delete_count] = array.cells or ()
        changed = {cell.document: cell for cell in changes.data or ()}
        cells[:] = [changed.get(cell.document, cell) for cell in cells]

    def close(self, uri: str) -> None:
        """A notebook has been closed."""
        self._cells.pop(uri, None)

    def before(self, uri: str) -> str:
        """The code cells before a cell that are in its language, each with a blank line after it.

        The last whole lines of them, PREFIX_CHARACTERS at most. "" for what is no code cell.
        """
        earlier, _ = self._around(uri)
        lines = chain.from_iterable(chain((_gap(cell),), reversed(cell.lines)) for cell in reversed(earlier))
        return "".join(reversed(_fitting(lines, PREFIX_CHARACTERS)))

    def after(self, uri: str) -> str:
        """As `before`, the cells after it, each with a blank line before it: their first SUFFIX_CHARACTERS at most."""
        _, later = self._around(uri)
        cells = [self._documents[uri], *later] if later else []
        lines = chain.from_iterable(chain((_gap(above),), cell.lines) for above, cell in pairwise(cells))
        return "".join(_fitting(lines, SUFFIX_CHARACTERS))

    def _around(self, uri: str) -> tuple[list[Document], list[Document]]:
        """The cells before and after a code cell that hold code of its language."""
        cells, document = self._code_cells(uri), self._documents.get(uri)
        if document is None or uri not in cells:
            return [], []
        place = cells.index(uri)
        around = (cells[:place], cells[place + 1 :])
        earlier, later = ([self._documents[cell] for cell in side if cell in self._documents] for side in around)
        return _like(document, earlier), _like(document, later)

    def _code_cells(self, uri: str) -> list[str]:
        """All code cells of the notebook that a cell is in."""
        for cells in self._cells.values():
            if any(cell.document == uri for cell in cells):
                return [cell.document for cell in cells if cell.kind == NotebookCellKind.Code]
        notebook, _, fragment = uri.partition("#")
        if not fragment or not uri.startswith(_CELL_SCHEME):
            return []
        cells_by_name = [name for name in self._documents if name.startswith(notebook + "#")]
        return _in_order([name for name in cells_by_name if self._documents[name].language_id != "markdown"])


def _like(document: Document, cells: Iterable[Document]) -> list[Document]:
    return [cell for cell in cells if cell.language_id == document.language_id and cell.lines != [""]]


def _gap(document: Document) -> str:
    """What ends a cell's text with a blank line."""
    end = document.line_end(len(document.lines) - 1)
    return end if document.lines[-1] == "" else end * 2


def _fitting(lines: Iterable[str], num_characters: int) -> list[str]:
    """The first of `lines`, as many as have no more characters in all."""
    fitting = []
    for line in lines:
        num_characters -= len(line)
        if num_characters < 0:
            break
        fitting.append(line)
    return fitting


def _in_order(cells: list[str]) -> list[str]:
    numbers = [_CELL_NUMBER.match(uri.partition("#")[2]) for uri in cells]
    known = {uri: int(number[1], 7) for uri, number in zip(cells, numbers, strict=True) if number}
    return sorted(cells, key=known.__getitem__) if len(known) == len(cells) else cells
