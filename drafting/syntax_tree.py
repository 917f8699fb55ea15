"""The syntax tree of one document, kept up to date by edits of its lines."""

from collections.abc import Iterable, Iterator, Sequence

from tree_sitter import Node, Point, Tree

from drafting.node_kinds import NodeKind
from drafting.syntax import Grammar

IN_TURNS_BYTES = 64 * 1024
"""To parse a longer text can take longer than an event loop may stand still."""


class SyntaxTree:
    """Parses as much again as an edit made necessary. Rows are lines of the document, from 0; bytes are UTF-8."""

    def __init__(self, grammar: Grammar, lines: Sequence[str]) -> None:
        self.kinds = grammar.kinds
        self._parser = grammar.parser()
        self._tree = self._parse(lines, None)

    @property
    def root(self) -> Node:
        """The node of the whole document."""
        return self._tree.root_node

    def edit(
        self, lines: Sequence[str], *, first: int, num_inserted: int, offset: int, removed: Sequence[str]
    ) -> list[tuple[int, int]]:
        """lines[first : first + num_inserted] have replaced `removed`, which began at byte `offset`.

        Returns ranges of rows, the last one included, in which the tree has another structure than before.
        """
        inserted = lines[first : first + num_inserted]
        self._tree.edit(
            offset,
            offset + num_bytes(removed),
            offset + num_bytes(inserted),
            Point(first, 0),
            _end(first, removed),
            _end(first, inserted),
        )
        old, self._tree = self._tree, self._parse(lines, self._tree)
        return [(changed.start_point.row, changed.end_point.row) for changed in old.changed_ranges(self._tree)]

    def children(self, node: Node, first: int, stop: int) -> Iterator[Node]:
        """Children of a node that stand, in part at least, on the rows from `first` up to `stop`."""
        cursor = node.walk()
        if cursor.goto_first_child_for_point(Point(first, 0)) is None:
            return
        while (child := cursor.node) is not None and child.start_point.row < stop:
            if last_row(child) >= first:
                yield child
            if not cursor.goto_next_sibling():
                return

    def construct(self, first: int, stop: int) -> str:
        """Kind of the node that most of these rows belong to, or of the smallest statement around them all."""
        node, around = self.root, ""
        while longest := self._longest(node, first, stop):
            node = longest
            if not _exceeds(node, first, stop):
                return node.type if not around or 2 * _overlap(node, first, stop) >= stop - first else around
            if self.kind(node) == NodeKind.STATEMENT:
                around = node.type
        return around

    def kind(self, node: Node) -> int:
        """The NodeKind of a node."""
        return self.kinds[node.kind_id] if node.kind_id < len(self.kinds) else NodeKind.UNKNOWN  # an error has 65535

    def _longest(self, node: Node, first: int, stop: int) -> Node | None:
        named = (child for child in self.children(node, first, stop) if child.is_named and not child.is_extra)
        return max(named, key=lambda child: _overlap(child, first, stop), default=None)

    def _parse(self, lines: Sequence[str], old: Tree | None) -> Tree:
        """Of all bytes, as the binding (0.26) keeps for ever what a callback returns."""
        text = "".join(lines)
        if "\r" in text:
            text = "".join(map(_with_line_feed, lines))
        data = text.encode("utf-8", "replace")
        if len(data) > IN_TURNS_BYTES:
            return self._parse_in_turns(data, old)
        return self._parser.parse(data, old) if old else self._parser.parse(data)

    def _parse_in_turns(self, data: bytes, old: Tree | None) -> Tree:
        """The binding holds Python's lock while it parses; other threads get their turn when it calls us."""
        views = [memoryview(data)]

        def read(offset: int, _point: Point) -> memoryview:
            views.append(views[0][offset:])
            return views[-1]

        def is_over(_offset: int, _has_error: bool) -> bool:
            return False

        try:
            if old:
                return self._parser.parse(read, old, progress_callback=is_over)
            return self._parser.parse(read, progress_callback=is_over)
        finally:
            for view in views:  # they are kept, some 200 bytes each; the text must not be
                view.release()


def line_bytes(line: str) -> bytes:
    """UTF-8 of a line, as tree-sitter is to see it: a CR alone ends a line for us, for it only a LF does."""
    return _with_line_feed(line).encode("utf-8", "replace")


def _with_line_feed(line: str) -> str:
    return line[:-1] + "\n" if line.endswith("\r") else line


def num_bytes(lines: Iterable[str]) -> int:
    """How long `line_bytes` of all these lines are."""
    return sum(len(line) if line.isascii() else len(line.encode("utf-8", "replace")) for line in lines)


def last_row(node: Node) -> int:
    """The last row on which a node has a character."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _overlap(node: Node, first: int, stop: int) -> int:
    return min(last_row(node) + 1, stop) - max(node.start_point.row, first)


def _exceeds(node: Node, first: int, stop: int) -> bool:
    return node.start_point.row < first or last_row(node) >= stop


def _end(first: int, lines: Sequence[str]) -> Point:
    """Where text of these lines ends that begins with row `first`."""
    if not lines or lines[-1].endswith(("\n", "\r")):
        return Point(first + len(lines), 0)
    return Point(first + len(lines) - 1, num_bytes(lines[-1:]))
