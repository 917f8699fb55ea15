import logging
import subprocess
import sys

import pytest

from drafting import syntax
from drafting.syntax import Syntax
from drafting.syntax_tree import SyntaxTree

LANGUAGES = [
    *("python", "typescript", "typescriptreact", "javascript", "javascriptreact", "go", "rust", "java", "c", "cpp"),
    *("csharp", "ruby", "php", "shellscript", "sql", "html", "css", "json", "jsonc", "yaml", "toml", "markdown"),
    *("lua", "kotlin", "scala"),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_grammar_loads_and_parses(language: str) -> None:
    grammar = Syntax().grammar(language)
    assert grammar is not None
    tree = SyntaxTree(grammar, ["# x = {1}\n", "é"])
    assert tree.root.end_point == (1, 2)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("python", {"def", "None", "lambda"}),
        ("go", {"func", "nil"}),
        ("rust", {"fn", "self", "true"}),
        ("typescript", {"interface", "const", "this"}),
        ("json", {"true", "null"}),
        ("sql", {"select", "SELECT"}),
        ("plaintext", set[str]()),
    ],
)
def test_keywords_are_words_that_the_grammar_spells_out(language: str, words: set[str]) -> None:
    found = Syntax().keywords(language)
    assert words <= found
    assert not [word for word in found if word in ("identifier", "x", "_string") or "_repeat" in word]


def test_a_language_without_a_grammar_is_nothing_to_speak_of(caplog: pytest.LogCaptureFixture) -> None:
    assert Syntax().grammar("plaintext") is None
    assert Syntax().keywords("brainfuck") == frozenset()
    assert not caplog.records


def test_a_wheel_that_is_missing_or_broken_is_said_once_and_is_no_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(syntax._GRAMMARS, "go", "absent")
    monkeypatch.setitem(syntax._GRAMMARS, "rust", "python:no_such_function")
    broken = Syntax()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert broken.grammar("go") is None
            assert broken.keywords("rust") == frozenset()
    assert len(caplog.records) == 2
    assert "pip install tree-sitter-absent" in caplog.messages[0]


def test_no_grammar_is_loaded_before_a_document_needs_it() -> None:
    code = "import sys, drafting.corpus; print([name for name in sys.modules if name.startswith('tree_sitter_')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
