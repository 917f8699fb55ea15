"""One open buffer: lines, syntax tree, and the runs it is cut into. Knows what an edit touches, indexes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from drafting.cutting import MAX_RUN_CHARACTERS, RUN_CHARACTERS
from drafting.screening import Census
from drafting.syntax import Grammar
from drafting.syntax_tree import SyntaxTree, num_bytes

MAX_REDONE_BYTES = 2 * MAX_RUN_CHARACTERS
"""What an edit that changes the structure far around (a quote that is not closed yet) makes us index again at most."""


@dataclass(frozen=True, slots=True)
class Run:
    """Lines of a document that are indexed together, under a number."""

    number: int
    num_lines: int
    num_bytes: int
    num_tokens: int


@dataclass(frozen=True, slots=True)
class Region:
    """runs[start:stop] are to be replaced by runs of `num_lines` lines, which begin at `row` and byte `offset`."""

    start: int
    stop: int
    row: int
    num_lines: int
    offset: int


class Document:
    """Mutable; `runs` is replaced as a whole at each change, so that another thread may read it at any time.

    edited: when it was opened or edited last, by its owner's clock.
    num_tokens: how many tokens it had when it was indexed last.
    """

    def __init__(self, name: str, language: str, lines: Sequence[str]) -> None:
        self.name = name
        self.language = language
        self.lines = list(lines)
        self.census = Census.of(lines)
        self.runs: list[Run] = []
        self.num_tokens = 0
        self.edited = 0
        self.tree: SyntaxTree | None = None

    def parse(self, grammar: Grammar | None) -> Region:
        """Makes the tree, if there is a grammar; everything is to be indexed."""
        self.tree = SyntaxTree(grammar, self.lines) if grammar else None
        return Region(0, len(self.runs), 0, len(self.lines), 0)

    def edit(self, first: int, num_removed: int, lines: Sequence[str]) -> Region | None:
        """`lines` replace `num_removed` lines from line `first` on. None where there are no runs to begin with."""
        first = min(first, len(self.lines))
        removed = self.lines[first : first + num_removed]
        self.lines[first : first + num_removed] = lines
        self.census = self.census + Census.of(lines) - Census.of(removed)
        if not self.runs:
            return None
        start, row, offset = self._locate(first)
        stop = self._locate(first + max(len(removed), 1) - 1)[0] + 1
        num_lines = sum(run.num_lines for run in self.runs[start:stop]) + len(lines) - len(removed)
        region = Region(start, stop, row, num_lines, offset)
        changed: list[tuple[int, int]] = []
        if self.tree:
            begin = offset + num_bytes(self.lines[row:first])
            changed = self.tree.edit(self.lines, first=first, num_inserted=len(lines), offset=begin, removed=removed)
        return self._widened(region, changed)

    def forget(self) -> None:
        """Lets go of the runs and the tree."""
        self.num_tokens = sum(run.num_tokens for run in self.runs)
        self.runs, self.tree = [], None

    def _widened(self, region: Region, changed: Sequence[tuple[int, int]]) -> Region:
        """With the runs beside it whose structure changed as well; a small leftover joins a neighbour in any case."""
        first = min((rows[0] for rows in changed), default=region.row)
        last = max((rows[1] for rows in changed), default=region.row)
        start, stop, row, num_lines, offset = region.start, region.stop, region.row, region.num_lines, region.offset
        size = num_bytes(self.lines[row : row + num_lines])
        while stop < len(self.runs) and _joins(size, self.runs[stop], changed=last >= row + num_lines):
            size += self.runs[stop].num_bytes
            num_lines += self.runs[stop].num_lines
            stop += 1
        while start > 0 and _joins(size, self.runs[start - 1], changed=first < row):
            start -= 1
            size += self.runs[start].num_bytes
            num_lines += self.runs[start].num_lines
            row -= self.runs[start].num_lines
            offset -= self.runs[start].num_bytes
        return Region(start, stop, row, num_lines, offset)

    def _locate(self, line: int) -> tuple[int, int, int]:
        """Index of the run that holds `line` (the last one for a line past the end), its first row and byte."""
        row = offset = 0
        for index, run in enumerate(self.runs[:-1]):
            if line < row + run.num_lines:
                return index, row, offset
            row += run.num_lines
            offset += run.num_bytes
        return len(self.runs) - 1, row, offset

    def run_at(self, line: int) -> int | None:
        """Number of the run that holds `line`, of the last one for a line past the end."""
        runs, row = self.runs, 0
        for run in runs:
            row += run.num_lines
            if line < row:
                return run.number
        return runs[-1].number if runs else None


def _joins(size: int, neighbour: Run, *, changed: bool) -> bool:
    if size < RUN_CHARACTERS // 4:
        return True
    return changed and size + neighbour.num_bytes <= MAX_REDONE_BYTES
