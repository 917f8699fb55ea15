"""Which lines belong to a construct, by the syntax tree of the text around them; what is still open is closed first."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from tree_sitter import Language, Node, Point, Query, QueryCursor, Tree

from drafting.node_kinds import NodeKind
from drafting.syntax import Grammar

Belonging = Literal["on", "closed", "apart"]
"""A line goes on with what was begun further up, ends it, or begins something else."""

_MOST_LINES, _MOST_CHARACTERS = 200, 8000
"""Of the text that is written; a longer one is left to its indentation."""

_ROWS = ("body_statement", "statements")

_CLOSER_OF = {"{": "}", "(": ")", "[": "]"}
_LAST_SIGNS = ("}", ")", "]", ";", "end", "fi", "done", "esac", ">")
_QUOTES = (('"""', '"""'), ("'''", "'''"), ("`", "`"), ('"', '"'), ("'", "'"), ("/*", "*/"))
"""What may be open over several lines, and closes so."""


class Constructs:
    """The tree of a bounded window: from a line at the left margin before the cursor up to what is written.

    Each answer is a function of the lines alone and costs one or two parses of that text; it is remembered.
    """

    def __init__(self, grammar: Grammar, scope: str, begun: str) -> None:
        """scope: the lines before the cursor's, as far as they matter. begun: the cursor's line up to the cursor."""
        self._grammar = grammar
        self._parser = grammar.parser()
        self._before = parsed_alone(scope, grammar)
        self._row = self._before.count("\n")
        self._cursor = _num_bytes(begun.rstrip()) - 1
        self._known: dict[str, Belonging | None] = {}

    def judge(self, lines: Sequence[str]) -> Belonging | None:
        """How the last of these complete lines belongs to the ones before it; the first is the cursor's.

        Where the cursor's line begins something, only that counts. None: the tree has errors here, or does not tell.
        """
        if len(lines) > _MOST_LINES:
            return None
        text = "\n".join(lines) + "\n"
        if text not in self._known:
            self._known[text] = self._judge(text, lines) if len(text) <= _MOST_CHARACTERS else None
        return self._known[text]

    def _judge(self, text: str, lines: Sequence[str]) -> Belonging | None:
        root = self._closed(text)
        if root is None:
            return None
        line, row = lines[-1], self._row + len(lines) - 1
        place = Point(row, _num_bytes(line) - _num_bytes(line.lstrip()))
        if self._kind(_at(root, place)) == NodeKind.COMMENT and _at(root, place).start_point.row == row:
            return None
        if self._cursor >= 0:
            return self._after_beginning(root, place, Point(row, _num_bytes(line.rstrip())))
        return "on" if self._continues(_at(root, place), place) else "apart"

    def _after_beginning(self, root: Node, place: Point, end: Point) -> Belonging | None:
        """place, end: where the text of the line begins and ends."""
        begun = _at(root, Point(self._row, self._cursor))
        while (around := begun.parent) and around.parent and around.start_point.row == self._row:
            if self._is_row(around):
                break
            begun = around
        if not begun.child_count or begun.start_point.row != self._row:
            return None
        while (following := begun.next_sibling) and following.start_point.row == begun.end_point.row < place.row + 1:
            begun = following
        if begun.end_point <= place:
            return "apart"
        return "closed" if begun.end_point == end and self._closes(begun) else "on"

    def _closes(self, construct: Node) -> bool:
        """Whether its last sign closes what began on the cursor's line."""
        last = construct
        while last.child_count:
            last = last.children[-1]
        owner = last.parent
        return last.type in _LAST_SIGNS and owner is not None and owner.start_point.row <= self._row

    def _continues(self, node: Node | None, place: Point) -> bool:
        """Whether a construct that is more than a row of statements began in a line of the text before this one."""
        while node and node.parent:
            if self._row <= node.start_point.row < place.row and node.end_point > place and not self._is_row(node):
                return True
            node = node.parent
        return False

    def _is_row(self, node: Node) -> bool:
        """Whether it is but statements in a row, without a sign of its own at its beginning."""
        is_body = self._kind(node) == NodeKind.BODY or node.type in _ROWS
        return is_body and node.child_count > 0 and node.children[0].is_named

    def _kind(self, node: Node) -> int:
        kinds = self._grammar.kinds
        return kinds[node.kind_id] if node.kind_id < len(kinds) else NodeKind.UNKNOWN  # an error has 65535

    def _closed(self, text: str) -> Node | None:
        """The root of a tree without errors from the cursor's line on, once what is open has been closed."""
        raw = self._parse(text)
        if _is_clean(raw.root_node, self._row):
            return raw.root_node
        bare = text.rstrip()
        if bare.endswith(","):
            text = bare[:-1] + text[len(bare) :]
        for tail in self._tails(raw, text):
            root = self._parse(text + tail + "\n").root_node
            if _is_clean(root, self._row):
                return root
        return None

    def _tails(self, raw: Tree, text: str) -> Iterator[str]:
        brackets = _brackets(raw, self._grammar.language)
        yield _closers(brackets)
        yield ";" + _closers(brackets)
        for opener, closer in _QUOTES:
            last = text.rfind(opener)
            is_open = text.rfind(closer) < last if opener != closer else text.count(opener) % 2 == 1
            if last >= 0 and is_open:
                position = _num_bytes(self._before) + _num_bytes(text[:last])
                closers = _closers([node for node in brackets if node.start_byte < position])
                yield from (closer + closers, closer + closers.replace("}", ";}", 1))

    def _parse(self, text: str) -> Tree:
        return self._parser.parse((self._before + text).encode("utf-8", "replace"))


def parsed_alone(scope: str, grammar: Grammar) -> str:
    """The text as a document of its own: PHP begins with a tag."""
    return "<?php\n" + scope if grammar.language.name == "php" and "<?" not in scope else scope


@lru_cache(maxsize=64)
def _query(language: Language) -> Query | None:
    signs = [sign for pair in _CLOSER_OF.items() for sign in pair if language.id_for_node_kind(sign, False)]
    return Query(language, "[" + " ".join(f'"{sign}"' for sign in signs) + "] @bracket") if signs else None


def _brackets(tree: Tree, language: Language) -> list[Node]:
    """In the order in which they stand."""
    query = _query(language)
    found = QueryCursor(query).captures(tree.root_node).get("bracket", []) if query else []
    return sorted((node for node in found if not node.is_missing), key=lambda node: node.start_byte)


def _closers(brackets: Sequence[Node]) -> str:
    """Of those that are open, the innermost first."""
    open_: list[str] = []
    for bracket in brackets:
        if bracket.type in _CLOSER_OF:
            open_.append(_CLOSER_OF[bracket.type])
        elif bracket.type in open_:
            while open_.pop() != bracket.type:
                pass
    return "".join(reversed(open_))


def _is_clean(node: Node, row: int) -> bool:
    """Whether no error reaches this row or one below it."""
    if not node.has_error or node.end_point.row < row:
        return True
    return not (node.is_error or node.is_missing) and all(_is_clean(child, row) for child in node.children)


def _at(root: Node, place: Point) -> Node:
    """The smallest node that covers the character at a place."""
    return root.descendant_for_point_range(place, Point(place.row, place.column + 1)) or root


def _num_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
