"""Where a document is cut into runs of lines: between syntax nodes, or, without a grammar, anywhere."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from tree_sitter import Node

from drafting.syntax_tree import SyntaxTree, last_row

RUN_CHARACTERS = 1_000
"""About the size of a run of statements or lines, some 250 tokens; a node half as large is a run of its own."""

MAX_RUN_CHARACTERS = 2_000
"""A larger node is cut between its children; only a single line may be longer."""

_LINE_CHARACTERS = 8
"""What a line counts beside its text, so that empty lines don't make endless runs."""

_LEFTOVER_PIECES = 3
_MAX_DEPTH = 12
_LEADING = frozenset(("decorator", "attribute_item", "inner_attribute_item", "attribute_list", "annotation"))
"""Nodes that belong to the one after them, as comments do."""


def cut(lines: Sequence[str], first: int, tree: SyntaxTree | None) -> list[int]:
    """Cuts `lines`, which begin at row `first` of their document; returns the number of lines of each run."""
    if not lines:
        return []
    cutter = _Cutter(lines, first, tree)
    return cutter.runs(cutter.pieces(first, first + len(lines), tree.root if tree else None))


class _Cutter:
    def __init__(self, lines: Sequence[str], first: int, tree: SyntaxTree | None) -> None:
        self._first = first
        self._sizes = list(accumulate((len(line) + _LINE_CHARACTERS for line in lines), initial=0))
        self._tree = tree

    def pieces(self, first: int, stop: int, node: Node | None, depth: int = 0) -> Iterator[int]:
        """Rows at which pieces end that may be put together, but not cut: small nodes, or single lines."""
        if not node or depth > _MAX_DEPTH:
            yield from range(first + 1, stop + 1)
            return
        for end, child in self._by_children(node, first, stop):
            if self._size(first, end) > MAX_RUN_CHARACTERS and end - first > 1:
                yield from self.pieces(first, end, child, depth + 1)
            else:
                yield end
            first = end

    def runs(self, ends: Iterable[int]) -> list[int]:
        """Puts neighbouring pieces together where they are small; returns the number of lines of each run."""
        starts = [self._first]
        small: list[int] = []
        for end in ends:
            if self._size(small[-1] if small else starts[-1], end) < RUN_CHARACTERS // 2:
                small.append(end)
                continue
            if small and not self._is_leftover(small, starts[-1], end):
                starts += self._group(starts[-1], small)
            starts.append(end)
            small = []
        if len(starts) > 1 and small and self._is_leftover(small, starts[-2], small[-1]):
            starts[-1] = small[-1]
        else:
            starts += self._group(starts[-1], small)
        return [stop - start for start, stop in pairwise(starts)]

    def _is_leftover(self, small: Sequence[int], start: int, stop: int) -> bool:
        """Whether so few small pieces stand beside a large one that they join it, in a run from `start` to `stop`."""
        return len(small) <= _LEFTOVER_PIECES and self._size(start, stop) <= MAX_RUN_CHARACTERS

    def _by_children(self, node: Node, first: int, stop: int) -> list[tuple[int, Node | None]]:
        """Where the rows of each child end, those before it included, and the child. All of them, if there is none."""
        assert self._tree is not None
        found: list[tuple[int, Node | None]] = []
        end = first
        for child in self._tree.children(node, first, stop):
            last = min(last_row(child) + 1, stop)
            if last <= end or child.is_extra or child.type in _LEADING:
                continue
            if found and child.start_point.row < end:  # on one line with the child before
                found.pop()
            found.append((last, child))
            end = last
        return [*found[:-1], (stop, found[-1][1] if found else None)]

    def _group(self, first: int, ends: Sequence[int]) -> Iterator[int]:
        """Ends of runs of about the same size, made of small pieces."""
        total = self._size(first, ends[-1]) if ends else 0
        goal = total / max(1, round(total / RUN_CHARACTERS))
        passed = 1
        for end in ends[:-1]:
            if self._size(first, end) >= passed * goal:
                yield end
                passed += 1
        yield from ends[-1:]

    def _size(self, start: int, stop: int) -> int:
        return self._sizes[stop - self._first] - self._sizes[start - self._first]
