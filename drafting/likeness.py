"""How much a place in a buffer is like the place of the cursor, by their syntax."""

from collections.abc import Callable, Sequence

from tree_sitter import Node

from drafting.node_kinds import NodeKind
from drafting.passage import Passage
from drafting.syntax import Grammar

UNKNOWN, OTHER_LANGUAGE, UNLIKE, PARTLY, LIKE = range(5)
"""Of `Draft.alike`: no syntax is known; another file type; another node and construct; one of them; both the same."""

WINDOW = 256
"""Tokens before the cursor that are parsed, which bounds the time: about 0.2 ms."""


class Cursor:
    """The syntax at the end of a text, asked for only when a match in a buffer is drafted from."""

    def __init__(self, language: str, grammar: Grammar | None, token_bytes: Callable[[int], bytes]) -> None:
        self._language = language
        self._grammar = grammar
        self._parser = grammar.parser() if grammar else None
        self._token_bytes = token_bytes

    def likeness(self, text: Sequence[int], passage: Passage, position: int) -> int:
        """Of the end of `text` and the place before `position` of a passage: one of the constants above."""
        if passage.language != self._language:
            return OTHER_LANGUAGE
        if not 0 < position <= len(passage.kinds):
            return UNKNOWN
        kind, construct = self._here(text)
        equal = (kind == passage.kinds[position - 1]) + (construct == passage.construct)
        return (UNLIKE, PARTLY, LIKE)[equal]

    def _here(self, text: Sequence[int]) -> tuple[int, str]:
        """Kind of the node that the last character is in, and of the outermost node around it."""
        if self._parser is None or self._grammar is None:
            return NodeKind.UNKNOWN, ""
        written = b"".join(map(self._token_bytes, text[-WINDOW:]))
        last = max(0, len(written) - 1)
        node = self._parser.parse(written).root_node.descendant_for_byte_range(last, last)
        if node is None:
            return NodeKind.UNKNOWN, ""
        return self._kind(node), _outermost(node).type

    def _kind(self, node: Node | None) -> int:
        """Of the innermost node that has one; passages tell theirs by the same rule."""
        assert self._grammar is not None
        kinds = self._grammar.kinds
        while node is not None:
            if node.kind_id < len(kinds) and (kind := kinds[node.kind_id]):  # a syntax error has a number beyond
                return kind
            node = node.parent
        return NodeKind.UNKNOWN


def _outermost(node: Node) -> Node:
    """The child of the root that holds a node."""
    while (parent := node.parent) is not None and parent.parent is not None:
        node = parent
    return node
