"""Every trap of speculation that we know of has a test: the mark `trap(n)` says which tests prove trap n."""

import ast
from pathlib import Path

TRAPS = range(1, 36)
NOT_YET: dict[int, str] = {}
"""Traps that nothing can fall into yet, each with the reason."""


def proven() -> set[int]:
    """The numbers of all marks `trap(n)` of tests in this folder."""
    numbers: set[int] = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.trap":
                        numbers |= {ast.literal_eval(argument) for argument in mark.args}
    return numbers


def test_every_trap_has_a_test_or_a_reason() -> None:
    assert proven() | NOT_YET.keys() == set(TRAPS)
    assert not proven() & NOT_YET.keys(), "what has a test needs no excuse"
