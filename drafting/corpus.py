"""The open buffers as passages of tokens and lexemes, one for each syntax node, kept up to date by edits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from drafting.cutting import cut
from drafting.document import Document, Region, Run
from drafting.passage import Passage
from drafting.passage_index import PassageIndex, Symbols
from drafting.reader import Encode, Reader
from drafting.syntax import Syntax
from drafting.syntax_tree import num_bytes

MAX_CORPUS_TOKENS = 200_000
"""Beyond this the least recently edited buffers are left out, to bound the memory of the index."""

ROOM = 0.95
"""A buffer that was left out comes back if the corpus is filled up to here then: not to leave again at the next key."""

NO_ROOM = "no room: buffers that were edited more recently fill the index"


class Corpus:
    """What is written in the open buffers, for lookup drafting.

    An edit parses, tokenises and indexes again only the runs of lines it touches. Edits come from an indexing thread,
    searches from the model's thread: both may call at any time.
    """

    def __init__(
        self, encode: Encode, token_bytes: Callable[[int], bytes] | None = None, *, syntax: Syntax | None = None
    ) -> None:
        """token_bytes: what a token spells; without it, passages say nothing of their syntax."""
        self.syntax = syntax or Syntax()
        """The grammars, for whoever needs a language's keywords."""
        self._reader = Reader(encode, token_bytes, self.syntax)
        self._index = PassageIndex()
        self._documents: dict[str, Document] = {}
        self._skipped: dict[str, str] = {}
        self._clock = 0

    @property
    def num_tokens(self) -> int:
        """Tokens indexed at present."""
        return self._index.num_tokens

    @property
    def skipped(self) -> Mapping[str, str]:
        """Documents that are open but not indexed, and why."""
        return dict(self._skipped)

    def open(self, document: str, lines: Sequence[str], *, language: str = "plaintext") -> None:
        """Takes in a whole document (again); `language` is its LSP identifier."""
        self._drop(document)
        opened = Document(document, language, lines)
        self._documents[document] = opened
        self._touch(opened)
        with self._or_left_out(opened):
            self._take_in(opened)
        self._balance()

    def edit(self, document: str, first: int, num_removed: int, lines: Sequence[str]) -> None:
        """`lines` have replaced `num_removed` lines from line `first` on."""
        edited = self._documents.get(document)
        if edited is None:
            return
        self._touch(edited)
        with self._or_left_out(edited):
            region = edited.edit(first, num_removed, lines)
            if region is None or edited.census.objection:
                self._take_in(edited)
            else:
                self._redo(edited, region)
        self._balance()

    def close(self, document: str) -> None:
        """Forgets a document; others may find room then."""
        if self._drop(document):
            self._balance()

    def skip(self, document: str, reason: str) -> None:
        """Forgets a document that is open, but is not to be indexed."""
        self.close(document)
        self._skipped[document] = reason

    def run_at(self, document: str, line: int) -> int | None:
        """Number of the passage that holds a line of a document, to be left out of a search."""
        found = self._documents.get(document)
        return found.run_at(line) if found else None

    def passage(self, number: int) -> Passage | None:
        """The passage of a number that `run_at` returned, None if it was replaced meanwhile."""
        return self._index.passage(number)

    def exact(self, pair: tuple[int, int], limit: int, *, excluded: int | None = None) -> list[tuple[Passage, int]]:
        """Where two tokens stand side by side and something follows: passages, and token positions after the pair.

        At most `limit`; the most recently edited buffer first, in it the passage indexed last and its last position.
        The passage numbered `excluded` is passed over.
        """
        return self._index.exact(pair, limit, excluded)

    def renamed(self, symbols: Symbols, limit: int, *, excluded: int | None = None) -> list[tuple[Passage, int]]:
        """As `exact`, for four symbols of lexemes in a row: passages, and lexeme positions after them."""
        return self._index.renamed(symbols, limit, excluded)

    def _drop(self, document: str) -> bool:
        """Forgets a document; returns whether it was there. The room that it leaves is the caller's to give away."""
        dropped = self._documents.pop(document, None)
        if dropped is not None:
            self._leave_out(dropped)
        self._skipped.pop(document, None)
        return dropped is not None

    def _touch(self, document: Document) -> None:
        self._clock += 1
        document.edited = self._clock

    @contextmanager
    def _or_left_out(self, document: Document) -> Iterator[None]:
        """Where something fails: rather nothing of a document than text that no longer exists."""
        try:
            yield
        except Exception as error:
            self._leave_out(document, f"cannot be indexed: {error}")
            raise

    def _take_in(self, document: Document) -> None:
        """Indexes a whole document, if there is nothing against it."""
        self._leave_out(document, document.census.objection)
        if document.name not in self._skipped:
            self._redo(document, document.parse(self.syntax.grammar(document.language)))

    def _redo(self, document: Document, region: Region) -> None:
        """Replaces the runs of a region: what was deleted can't be found any more before anything new can."""
        passages = self._read(document, region)
        runs = document.runs
        for run in runs[region.start : region.stop]:
            self._index.remove(run.number)
        new = [
            Run(self._index.add(passage, document), num_lines, size, len(passage.tokens))
            for passage, num_lines, size in passages
        ]
        document.runs = [*runs[: region.start], *new, *runs[region.stop :]]

    def _read(self, document: Document, region: Region) -> list[tuple[Passage, int, int]]:
        """Passages of a region, with the number of their lines and bytes."""
        row, offset = region.row, region.offset
        passages: list[tuple[Passage, int, int]] = []
        for num_lines in cut(document.lines[row : row + region.num_lines], row, document.tree):
            passage = self._reader.read(document, row, num_lines, offset)
            size = num_bytes(document.lines[row : row + num_lines])
            passages.append((passage, num_lines, size))
            row, offset = row + num_lines, offset + size
        return passages

    def _leave_out(self, document: Document, reason: str = "") -> None:
        """Takes a document out of the index; its lines stay known, so that an edit or more room may bring it back."""
        runs = document.runs
        document.forget()
        for run in runs:
            self._index.remove(run.number)
        if reason:
            self._skipped[document.name] = reason
        else:
            self._skipped.pop(document.name, None)

    def _balance(self) -> None:
        """Leaves out the least recently edited documents if there is too much, and takes in more if there is room."""
        documents = sorted(self._documents.values(), key=lambda document: document.edited)
        for document in [each for each in documents if each.runs][:-1]:
            if self.num_tokens <= MAX_CORPUS_TOKENS:
                break
            self._leave_out(document, NO_ROOM)
        for document in reversed(documents):
            fits = self.num_tokens + document.num_tokens <= ROOM * MAX_CORPUS_TOKENS
            if fits and self._skipped.get(document.name) == NO_ROOM:
                with self._or_left_out(document):
                    self._take_in(document)
