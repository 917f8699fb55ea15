"""A large text is parsed as a small one is, and lets other threads have their turn."""

import threading
import time

import pytest

from drafting import syntax_tree
from drafting.syntax import Grammar, Syntax
from drafting.syntax_tree import IN_TURNS_BYTES, SyntaxTree, num_bytes

LINES = ["def f(a, b):\n", "    return 'né' + a\r\n", "\n", "x = [1,\n", "  2]\n"]


@pytest.fixture
def grammar() -> Grammar:
    grammar = Syntax().grammar("python")
    assert grammar is not None
    return grammar


def test_in_turns_or_not_the_tree_is_the_same_also_after_edits(
    grammar: Grammar, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees: list[list[str]] = []
    for limit in (0, IN_TURNS_BYTES):
        monkeypatch.setattr(syntax_tree, "IN_TURNS_BYTES", limit)
        lines = LINES * 20
        tree = SyntaxTree(grammar, lines)
        trees.append([str(tree.root)])
        for line in (97, 3, 50):
            removed, lines[line : line + 1] = lines[line : line + 1], ["y = (\n", "z\n"]
            changed = tree.edit(lines, first=line, num_inserted=2, offset=num_bytes(lines[:line]), removed=removed)
            trees[-1] += [str(tree.root), str(changed)]
    assert trees[0] == trees[1]


def test_while_a_large_text_is_parsed_other_threads_get_their_turn(grammar: Grammar) -> None:
    # the decoder's event loop stood still for as long as a large file was parsed
    lines = [f"value_{number} = call(item_{number}.name, {number})\n" for number in range(10_000)]
    turns, over = [0], threading.Event()

    def count() -> None:
        while not over.is_set():
            turns[0] += 1
            time.sleep(0.0005)

    counting = threading.Thread(target=count)
    counting.start()
    before = turns[0]
    SyntaxTree(grammar, lines)
    num_turns = turns[0] - before
    over.set()
    counting.join()
    assert num_turns > 4
