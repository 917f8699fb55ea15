"""What the syntax tree says of the place where text is wanted."""

from tree_sitter import Node

from decoder.ending.constructs import parsed_alone
from decoder.ending.lines_around import LinesAround
from decoder.wire.messages import Complete
from drafting.node_kinds import NodeKind
from drafting.syntax import Grammar

_BLOCK_COMMENTS = (("/*", "*/"), ("<!--", "-->"), ("--[[", "]]"), ("(*", "*)"))
_WORD = "x"


def in_comment(request: Complete, grammar: Grammar | None) -> bool:
    """Whether what is typed at the cursor is part of a comment; a docstring is a string. Without a grammar, never.

    A window around the cursor is parsed, with a word at the cursor.
    """
    if grammar is None:
        return False
    around = LinesAround.of(request)
    before = parsed_alone(around.scope + around.above, grammar)
    tails = (around.after, *(closer for opener, closer in _BLOCK_COMMENTS if _is_open(before, opener, closer)))
    return any(_is_comment(_node(before, _WORD + tail, grammar), grammar) for tail in tails)


def _node(before: str, after: str, grammar: Grammar) -> Node | None:
    """The smallest node at the first character behind `before`. The tree counts bytes."""
    begun = before.encode("utf-8", "replace")
    tree = grammar.parser().parse(begun + after.encode("utf-8", "replace"))
    return tree.root_node.descendant_for_byte_range(len(begun), len(begun) + 1)


def _is_comment(node: Node | None, grammar: Grammar) -> bool:
    while node:
        if node.kind_id < len(grammar.kinds) and grammar.kinds[node.kind_id] == NodeKind.COMMENT:
            return True
        node = node.parent
    return False


def _is_open(before: str, opener: str, closer: str) -> bool:
    return before.rfind(opener) > before.rfind(closer)
