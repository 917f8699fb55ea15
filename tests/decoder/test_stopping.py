import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.stopping import Stopping
from decoder.wire.messages import Complete, Multiline


def stopping(document: str, multiline: Multiline = "auto") -> Stopping:
    """Rules at the mark ▮."""
    prefix, _, suffix = document.partition("▮")
    return Stopping.of(Complete(1, "1:x", "", prefix, suffix, multiline=multiline))


def offered(document: str, written: str, multiline: Multiline = "auto") -> str:
    """What is left of a model's text."""
    rules = stopping(document, multiline)
    return rules.trim(written[: rules.end(written)])


SINGLE = [
    # a line that goes on ends with the line
    ("x = ▮\ny = 2\n", "compute()\nz = 3\n", "compute()"),
    ("x = ▮\n", "compute()", "compute()"),
    ("import os▮\n", "\nimport sys\nimport re\n", "\nimport sys"),
    ("x = ▮\n", "1   \ny\n", "1"),
    # what stands after the cursor is not written twice
    ("print(foo▮)\n", ", bar)\n", ", bar"),
    ("print(foo▮)\n", ", bar(c))\n", ", bar(c)"),
    ("print(foo▮)\n", ", bar(c)\n", ", bar(c)"),
    ("a = f(▮) + 1\n", "x) + 1\n", "x"),
    ("call(▮);\n", "a, b(c));\n", "a, b(c)"),
    ("x = [▮]\n", "1, 2]\n", "1, 2"),
    ('print("▮")\n', 'hello")\n', "hello"),
    ('print("▮")\n', 'hello", end="")\n', 'hello", end="'),
    ('print("▮")\n', 'hi", "you\n', 'hi", "you'),
    ("int x = 5▮;\n", " + 3;\n", " + 3"),
    ("if x▮:\n", " == 1:\n    pass\n", " == 1"),
    ("def f(▮):\n", "a, b):\n    return a\n", "a, b"),
    ("x = ▮ + b\n", "a + b\n", "a"),
    # brackets that the text needs are kept
    ("x = (▮\n", "a + b) * (c)\n", "a + b) * (c)"),
    ("f(▮, 2)\n", "g(1)\n", "g(1)"),
    ("f(a▮)\n", "[0](1)\n", "[0](1)"),
    ("f(▮)\n", '")"\n', '")"'),
    ("f(▮)\n", "')', x)\n", "')', x"),
    ("f(▮)\n", 'sep="(", end=")")\n', 'sep="(", end=")"'),
    # names that only end like the rest of the line are kept
    ("x = ▮ b\n", "ab\n", "ab"),
    ("y = ▮if z\n", "elif\n", "elif"),
    # a repetition of the next line is dropped
    ("a = 1▮\nb = 2\nc = 3\n", "\nb = 2\nc = 3\n", ""),
    ("a = 1▮\nb = 2\nc = 3\n", "\na2 = 1\nb = 2\n", "\na2 = 1"),
    ("a = 1▮\n\n\nb = 2\n", "\nb = 2\n", ""),
]
BLOCKS = [
    # P06: the closer that is already there, and everything after it
    ("function add(a, b) {\n  ▮\n}\n", "return a + b;\n}", "return a + b;"),
    ("function add(a, b) {\n  ▮\n}\n", "return a + b;\n}\n\nfunction sub() {\n", "return a + b;"),
    ("function add(a, b) {▮\n}\n", "\n  return a + b;\n}\n\nfunction sub() {\n", "\n  return a + b;"),
    # a closer that is not there yet is written
    ("function add(a, b) {▮\n", "\n  return a + b;\n}\n\nfunction sub() {\n", "\n  return a + b;\n}"),
    ("function f() {\n  if (a) {▮\n}\n", "\n    b();\n  }\n}\n", "\n    b();\n  }"),
    ("function f() {\n  ▮\n}\n", "if (x) {\n    a();\n  }\n  b();\n}\n", "if (x) {\n    a();\n  }\n  b();"),
    ("begin▮\n", "\n  x\nend\ny\n", "\n  x\nend"),
    ("if a; then▮\n", "\n  x\nfi\ny\n", "\n  x\nfi"),
    # a closer is a word, not the beginning of a name
    ("def f():▮\n", "\n    return 1\nendpoint = 2\nx = 3\n", "\n    return 1"),
    ("def f():▮\n", "\n    return 1\nfirst = 2\nx = 3\n", "\n    return 1"),
    ("def f():▮\n", "\n    return 1\ndone = 2\nx = 3\n", "\n    return 1"),
    # a block ends where the margin is passed, at a blank line only where a line was blank before
    ("def f():▮\n", "\n    a = 1\n\n    return a\n\n\ndef g():\n", "\n    a = 1\n\n    return a"),
    ("def f():\n    ▮\n", "a = 1\n    return a\ndef g():\n", "a = 1\n    return a"),
    ("def f():\n    ▮\n", "a = 1\n\n    return a\n", "a = 1"),
    ("class A:\n\tdef f(self):▮\n", "\n\t\treturn 1\n\tdef g(self):\n", "\n\t\treturn 1"),
    # a blank line where the closer alone is written again
    ("function f() {\n  a();\n▮\n}\n", "}\n", ""),
    ("x = [\n    1,\n▮\n]\n", "    2,\n]\nz\n", "    2,"),
    # blank lines before the first text are not the end of everything
    ("import os\n▮\n", "\n\ndef f():\n    return 1\n\n\nx = 2\n", "\n\ndef f():\n    return 1"),
    ("import os\n▮\n", "\ndef f():\n    return 1\n\n\nx = 2\n", "\ndef f():\n    return 1"),
]


@pytest.mark.parametrize(("document", "written", "left"), SINGLE + BLOCKS)
def test_what_is_offered(document: str, written: str, left: str) -> None:
    assert offered(document, written) == left


@pytest.mark.parametrize(("document", "written", "left"), SINGLE + BLOCKS)
def test_line_ends_of_the_document_make_no_difference(document: str, written: str, left: str) -> None:
    assert offered(document.replace("\n", "\r\n"), written) == left


@pytest.mark.parametrize(("document", "left"), [(case[0], case[2]) for case in SINGLE + BLOCKS if "'" not in case[1]])
def test_a_suggestion_never_closes_twice_what_it_did_not_open(document: str, left: str) -> None:
    assert max(_unmatched(document.replace("▮", left))) <= max(0, *_unmatched(document.replace("▮", "")))


def _unmatched(text: str) -> list[int]:
    """Closers without an opener, by kind; brackets in strings do not count."""
    bare = re.sub(r'"[^"]*"', "", text)
    return [bare.count(closer) - bare.count(opener) for opener, closer in ("()", "[]", "{}")]


@pytest.mark.parametrize(
    ("document", "multiline", "block"),
    [
        ("x = ▮\n", "auto", False),
        ("x = ▮\n", "always", True),
        ("x = f(▮)\n", "always", False),
        ("def f():▮\n", "auto", True),
        ("def f():▮\n", "never", False),
        ("    ▮\n", "auto", True),
        ("    ▮\n", "never", False),
        ("▮", "auto", True),
        ("f(x => ▮)\n", "auto", False),
        ("f(x =>▮\n", "auto", True),
        ("x = 1▮  \n", "auto", False),
    ],
)
def test_a_block_is_written_at_a_blank_line_or_after_an_opener(
    document: str, multiline: Multiline, block: bool
) -> None:
    assert stopping(document, multiline).block is block


TEXT = st.text(alphabet="ab {}()\n\t:;\"'", max_size=40)
DOCUMENT = st.sampled_from([case[0] for case in SINGLE + BLOCKS])


@given(DOCUMENT, TEXT)
@pytest.mark.trap(24)
def test_the_end_does_not_depend_on_how_the_text_arrives(document: str, written: str) -> None:
    rules = stopping(document)
    whole = rules.end(written)
    for length in range(len(written) + 1):
        assert rules.end(written[:length]) in (None, whole)


@given(DOCUMENT, TEXT)
def test_trimming_only_takes_away_from_the_end(document: str, written: str) -> None:
    rules = stopping(document)
    left = rules.trim(written)
    assert written.startswith(left)
    assert left == left.rstrip()


@given(DOCUMENT, TEXT)
def test_nothing_goes_beyond_the_line_where_text_follows_the_cursor(document: str, written: str) -> None:
    rules = stopping(document)
    if rules.rest:
        assert "\n" not in rules.trim(written)
