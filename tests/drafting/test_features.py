import re

from drafting.features import TokenShapes, features
from drafting.node_kinds import NodeKind
from drafting.syntax import Syntax
from drafting.syntax_tree import SyntaxTree, num_bytes

PYTHON = """\
import os

def area(width, height):
    # née
    size = shape.width * height
    if size > 3:
        return max(size, "three")
"""


def read(text: str, language: str, *, first: int = 0) -> list[tuple[str, NodeKind, int]]:
    """(token, kind, distance) from line `first` on; a token is a word or a mark with the blanks before it."""
    grammar = Syntax().grammar(language)
    assert grammar is not None
    lines = text.splitlines(keepends=True)
    tree = SyntaxTree(grammar, lines)
    rest = "".join(lines[first:])
    words = re.findall(r"\s*(?:\w+|[^\w\s])|\s+", rest)
    shapes = TokenShapes(lambda token: words[token].encode())
    kinds, distances = features(tree, num_bytes(lines[:first]), len(rest.encode()), range(len(words)), shapes)
    return [
        (word.strip(), NodeKind(kind), distance) for word, kind, distance in zip(words, kinds, distances, strict=True)
    ]


def test_each_token_knows_what_it_is_for_and_how_long_its_statement_still_is() -> None:
    found = {word: (kind, distance) for word, kind, distance in read(PYTHON, "python")}
    assert found["import"] == (NodeKind.STATEMENT_START, 2)
    assert found["os"] == (NodeKind.IMPORT, 1)
    assert found["height"][0] == NodeKind.EXPRESSION, "the last place of it counts here"
    assert found["née"][0] == NodeKind.COMMENT
    assert found["width"] == (NodeKind.MEMBER, 3)
    assert found["three"][0] == NodeKind.STRING
    assert found["max"][0] == NodeKind.CALL
    assert found["return"] == (NodeKind.STATEMENT_START, 9)


def test_the_head_of_a_definition_or_condition_ends_where_its_body_begins() -> None:
    found = read(PYTHON, "python")
    distances = {word: distance for word, _, distance in found}
    assert distances["def"] == 8 + len(["#", "née"])
    assert distances["if"] == 5


def test_a_part_of_a_document_is_read_as_in_the_whole() -> None:
    whole, part = read(PYTHON, "python"), read(PYTHON, "python", first=4)
    assert part == whole[-len(part) :]


def test_an_arrow_before_a_type_is_no_member_and_one_after_a_pointer_is() -> None:
    python = {word: kind for word, kind, _ in read("def f(a) -> int: pass\n", "python")}
    assert python[":"] == NodeKind.STATEMENT
    c = {word: kind for word, kind, _ in read("void f(void) { a->b = 1; }\n", "c")}
    assert c["b"] == NodeKind.MEMBER


def test_tokens_that_do_not_spell_the_text_say_nothing() -> None:
    grammar = Syntax().grammar("python")
    assert grammar is not None
    tree = SyntaxTree(grammar, ["x = 1\n"])
    assert features(tree, 0, 6, [0], TokenShapes(lambda _: b"x")) == (b"", b"")


def test_a_deeply_nested_text_is_no_danger() -> None:
    depth = 3_000
    assert len(read("[" * depth + "]" * depth, "json")) >= 2 * depth
