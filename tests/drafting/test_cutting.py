from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drafting.cutting import MAX_RUN_CHARACTERS, RUN_CHARACTERS, cut
from drafting.syntax import Syntax
from drafting.syntax_tree import SyntaxTree


def pieces(text: str, language: str = "plaintext") -> list[str]:
    """The runs of a whole document."""
    lines = text.splitlines(keepends=True)
    grammar = Syntax().grammar(language)
    counts = cut(lines, 0, SyntaxTree(grammar, lines) if grammar else None)
    stops = list(accumulate(counts))
    return ["".join(lines[stop - count : stop]) for stop, count in zip(stops, counts, strict=True)]


@given(st.lists(st.sampled_from(["\n", "x\n", "y" * 300 + "\n", "z" * 3000 + "\n"]), max_size=60))
def test_lines_are_cut_into_runs_of_limited_size_and_none_is_lost(lines: list[str]) -> None:
    runs = pieces("".join(lines))
    assert "".join(runs) == "".join(lines)
    assert all(len(run) <= MAX_RUN_CHARACTERS or run.count("\n") == 1 for run in runs)


def test_plain_lines_make_runs_of_about_the_same_size() -> None:
    runs = pieces("twelve chars\n" * 1000)
    assert all(RUN_CHARACTERS / 3 < len(run) < RUN_CHARACTERS for run in runs)


def test_a_class_is_cut_between_its_methods() -> None:
    method = "    def method(self):\n" + "        self.count += 1\n" * 30 + "\n"
    runs = pieces("class Counter:\n" + method * 6, "python")
    assert len(runs) == 6
    assert all("def method" in run for run in runs)


def test_a_long_function_is_cut_between_its_statements() -> None:
    statement = "    total = sum(\n        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],\n    )\n"
    runs = pieces("def f():\n" + statement * 100, "python")
    assert all(run.endswith("    )\n") for run in runs)
    assert all(len(run) <= MAX_RUN_CHARACTERS for run in runs)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("json", "{\n" + "".join(f'  "key{n}": {{\n    "a": [\n      {n}\n    ]\n  }},\n' for n in range(200)) + "}\n"),
        ("yaml", "".join(f"job{n}:\n  steps:\n    - run: make\n    - run: test\n" for n in range(200))),
    ],
)
def test_data_that_is_one_node_is_cut_between_its_entries(language: str, text: str) -> None:
    runs = pieces(text, language)
    assert len(runs) > 10
    assert all(run.lstrip().startswith(('"key', "job")) for run in runs[1:-1])


def test_a_text_nested_without_end_is_cut_all_the_same() -> None:
    assert "".join(pieces("[\n" * 3000 + "]\n" * 3000, "json")) == "[\n" * 3000 + "]\n" * 3000
