"""What the syntax tree says about each token of a run: the kind of its node, and how long its statement still is."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from tree_sitter import Node, TreeCursor

from drafting.node_kinds import NodeKind
from drafting.syntax_tree import SyntaxTree

MAX_DISTANCE = 255


class TokenShapes:
    """Where in a token its text begins and ends, in bytes; each token is looked at once."""

    def __init__(self, token_bytes: Callable[[int], bytes]) -> None:
        @cache
        def shape(token: int) -> tuple[int, int]:
            text = token_bytes(token)
            return len(text), len(text) - len(text.lstrip()) if text.strip() else 0

        self.of = shape
        """Length of a token, and how many blanks it begins with (0 where it is nothing else)."""


def features(
    tree: SyntaxTree, offset: int, size: int, tokens: Sequence[int], shapes: TokenShapes
) -> tuple[bytes, bytes]:
    """For each token of the `size` bytes from `offset` on: its NodeKind, and the tokens left of its statement.

    A statement's head ends where its body begins. Both are empty where the tokens do not spell those bytes.
    """
    places, end = [], 0
    for width, blanks in map(shapes.of, tokens):
        places.append(end + blanks)
        end += width
    if end != size:
        return b"", b""
    kinds, ends = _paint(tree, offset, size)
    distances = bytearray(len(tokens))
    for number, place in enumerate(places):
        if stop := ends[place]:
            distances[number] = min(max(bisect_left(places, stop) - number, 1), MAX_DISTANCE)
    return bytes(map(kinds.__getitem__, places)), bytes(distances)


def _paint(tree: SyntaxTree, offset: int, size: int) -> tuple[bytearray, "array[int]"]:
    """The NodeKind of each byte, and where its statement ends (0: in none), both counted from `offset`."""
    kinds, ends, statements = bytearray(size), array("I", bytes(4)) * size, []
    for node, parent in _nodes(tree.root, offset, offset + size):
        kind = tree.kind(node)
        start, end = max(node.start_byte - offset, 0), min(node.end_byte - offset, size)
        if kind == NodeKind.MEMBER:  # a dot, whose member's name follows; but not an arrow before a type
            start, end = end, end if tree.kind(parent) == NodeKind.STATEMENT else min(parent.end_byte - offset, size)
        if kind and start < end:
            kinds[start:end] = bytes((kind,)) * (end - start)
        if kind in (NodeKind.STATEMENT, NodeKind.IMPORT):
            ends[start:end] = array("I", (end,)) * (end - start)
            head = min(_head_end(node) - offset, end)
            if start < head:
                ends[start:head] = array("I", (head,)) * (head - start)
            if node.start_byte >= offset and start < end:
                statements.append(start)
    for start in statements:
        kinds[start] = NodeKind.STATEMENT_START
    return kinds, ends


def _nodes(root: Node, start: int, stop: int) -> Iterator[tuple[Node, Node]]:
    """All nodes but the root that reach into these bytes, outer ones first, each with its parent."""
    cursor = root.walk()
    parents = [root]
    found = cursor.goto_first_child_for_byte(start) is not None
    while found and (node := cursor.node) is not None and node.start_byte < stop:
        if node.end_byte > start:
            yield node, parents[-1]
            if _enter(cursor, start):
                parents.append(node)
                continue
        while not (found := cursor.goto_next_sibling()) and cursor.goto_parent():
            parents.pop()


def _enter(cursor: TreeCursor, start: int) -> bool:
    """Goes to the first child that ends after byte `start`."""
    node = cursor.node
    if node is None or node.start_byte >= start:
        return cursor.goto_first_child()
    return cursor.goto_first_child_for_byte(start) is not None


def _head_end(node: Node) -> int:
    """The byte where a statement's body begins; a statement without one is all head."""
    body = node.child_by_field_name("body") or node.child_by_field_name("consequence")
    return body.start_byte if body else node.end_byte
