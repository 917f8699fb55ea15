"""A line on which only blanks stand: what the model is asked with, and where what it writes is put."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder import blank_line
from decoder.blank_line import prompted_prefix
from decoder.stopping import Stopping
from decoder.wire.messages import Complete
from tests.decoder.test_stopping import SYNTAX, read


def test_the_examples_in_the_module_hold() -> None:
    assert doctest.testmod(blank_line).failed == 0


@pytest.mark.parametrize(
    ("prefix", "suffix", "prompted"),
    [
        ("a:\n    ", "", "a:\n"),
        ("a:\n\t", "  \nb", "a:\n"),
        ("a:\r\n  ", "\r\n", "a:\n"),
        ("    ", "\n", ""),
        # something else stands on the line
        ("a = ", "\n", "a = "),
        ("a:\n    ", "b()\n", "a:\n    "),
        ("a:\n    b ", "\n", "a:\n    b "),
        ("a\n\n", "\n", "a\n\n"),
    ],
)
def test_the_blanks_of_a_line_without_text_are_not_prompted(prefix: str, suffix: str, prompted: str) -> None:
    assert prompted_prefix(Complete(1, "1:x", "python", prefix, suffix)) == prompted


ADD = "def add(a, b):\n    c = []\n    for x in a:\n        c.append(x)\n"
CLASS = "class A:\n    x = 1\n"
FUNCTION = "function f() {\n  if (a) {\n    b();\n"
DOCUMENTED = "/**\n * A\n */\nfunction f() {\n    a();\n"
PLACED = [
    # further left, to a level that encloses the cursor
    ("python", ADD + "        ▮", "    return c\n", ADD + "    return c"),
    ("python", ADD + "\t\t▮\n", "    return c\n", ADD + "    return c"),
    ("python", ADD + "        ▮\nadd()\n", "def sub(a):\n    return a\n", ADD + "def sub(a):\n    return a"),
    ("python", ADD + "        ▮", "@cache\ndef sub(a):\n    return a\n", ADD + "@cache\ndef sub(a):\n    return a"),
    ("python", "if a:\n    b()\n    ▮", "else:\n    c()\n", "if a:\n    b()\nelse:\n    c()"),
    ("python", "f(\n    a,\n    ▮", ")\n", "f(\n    a,\n)"),
    ("javascript", FUNCTION + "    ▮", "  }\n", FUNCTION + "  }"),
    ("javascript", "function f() {\n  a();\n  ▮", "}\n", "function f() {\n  a();\n}"),
    ("ruby", "def f\n  a\n  ▮", "end\n", "def f\n  a\nend"),
    ("go", "func f() {\n\ta()\n\t▮", "}\n", "func f() {\n\ta()\n}"),
    ("javascript", "if (a) {\n  b();\n}\nif (c) {\n    ▮\n}\n", "  d();\n", "if (a) {\n  b();\n}\nif (c) {\n  d();"),
    ("javascript", "/**\n * A\n */\n ▮\n", "export const a = 1;\n", "/**\n * A\n */\nexport const a = 1;"),
    ("java", "class A {\n" + "    int a;\n" * 500 + "    ▮", "}\n", "class A {\n" + "    int a;\n" * 500 + "}"),
    # here, whether the typed blanks are written again or not
    ("python", ADD + "        ▮", "        c.sort()\n", ADD + "        c.sort()"),
    ("python", ADD + "        ▮", "c.sort()\n", ADD + "        c.sort()"),
    ("go", "func f() {\n\t▮\n}\n", "    a()\n", "func f() {\n\ta()"),
    ("python", "if a:\n    ▮", "\tb()\n", "if a:\n    b()"),
    ("python", CLASS + "    ▮", "def f(self):\n        return 1\n", CLASS + "    def f(self):\n        return 1"),
    ("java", "class A {\n    int x;\n    ▮\n}\n", "public int f() {\n", "class A {\n    int x;\n    public int f() {"),
    ("javascript", "if (a) {\n  b();\n} else {\n▮", "  c();\n", "if (a) {\n  b();\n} else {\n  c();"),
    ("c", "int f(int a,\n      int b) {\n  ▮\n}\n", "  return a;\n", "int f(int a,\n      int b) {\n  return a;"),
    ("c", "  if (g(a,\n        b)) {\n    ▮\n}\n", "    c();\n", "  if (g(a,\n        b)) {\n    c();"),
    ("cpp", "  auto f()\n      -> A {\n    ▮", "    g();\n", "  auto f()\n      -> A {\n    g();"),
    ("java", "/**\n * <pre>{@code\n *   f() {\n ▮\n", " *   }\n", "/**\n * <pre>{@code\n *   f() {\n *   }"),
    ("yaml", "on:\n  push:\n    a:\n    ▮\n", "    - 1\n", "on:\n  push:\n    a:\n    - 1"),
    ("yaml", "on:\n  push:\n    a: 1\n    ▮\n", "  pull:\n", "on:\n  push:\n    a: 1\n  pull:"),
    ("yaml", "on:\n  push: 1\n  ▮\n", "jobs:\n  a: 1\n", "on:\n  push: 1\njobs:\n  a: 1"),
    ("python", "try:\n    a()\n    ▮\n", "b: int = 1\n", "try:\n    a()\n    b: int = 1"),
    ("c", "int f() {\n  a();\n  ▮\n  c();\n", "#ifdef B\n  b();\n", "int f() {\n  a();\n#ifdef B\n  b();"),
    ("python", "def f():\n    a()\n    ▮\n    c()\n", "# if b\n", "def f():\n    a()\n    # if b"),
    ("javascript", "/**\n * A\n */\n ▮\n", "app.a = 1;\n", "/**\n * A\n */\napp.a = 1;"),
    ("html", "<a>\n  <b>\n    c\n    ▮\n", "  </b>\n", "<a>\n  <b>\n    c\n  </b>"),
    ("html", "<style>\nb {\n  a: 1;\n  ▮\n  </style>\n", "}\n", "<style>\nb {\n  a: 1;\n}"),
    ("rust", "fn f() {\n    a\n        .b()\n        ▮\n", "}\n", "fn f() {\n    a\n        .b()\n}"),
    ("c", "  for (i = 0; i < n; i++)\n  ▮\n", "    f(i);\n", "  for (i = 0; i < n; i++)\n    f(i);"),
    ("c", "  run(i);\n  ▮\n", "    g(i);\n", "  run(i);\n  g(i);"),
    ("javascript", "f({\n  a: {\n    b: 1\n  ▮\n});\n", "}\n", "f({\n  a: {\n    b: 1\n  }"),
    ("python", "def f():\n    ▮", "import os\n", "def f():\n    import os"),
    ("python", CLASS + "    ▮", "type = 1\n", CLASS + "    type = 1"),
    # further right
    ("python", "if a:\n▮", "    b()\n", "if a:\n    b()"),
    ("python", "def f():\n    a()\nif a:\n  ▮", "    b()\n", "def f():\n    a()\nif a:\n    b()"),
    ("python", "if x:\n    if y:\n    ▮", "        return 1\n", "if x:\n    if y:\n        return 1"),
    ("python", "if x:\n    if y:\n    ▮", "    return 1\n", "if x:\n    if y:\n        return 1"),
    # a stray blank, at no level
    ("python", "def f():\n    ▮", " return 1\n", "def f():\n    return 1"),
    ("javascript", DOCUMENTED + "    ▮", " b();\n", DOCUMENTED + "    b();"),
    # no line at all is better than one in a place where none is
    ("python", "def f():\n        a()\n        ▮", "   return 1\n", "def f():\n        a()\n        "),
    ("javascript", "function f() {\n  ▮\n}\n", "}\n", "function f() {\n  "),
    ("javascript", FUNCTION + "    ▮", "}\n", FUNCTION + "    "),
    ("javascript", "f(() => {\n  a();\n  ▮\n  b();\n})\n", "})\n", "f(() => {\n  a();\n  "),
    ("rust", "fn f(\n    a: A,\n    ▮\n    b: B,\n) {}\n", ") {\n    a\n", "fn f(\n    a: A,\n    "),
    ("java", "  void f() {\n    a();\n    ▮\n  }\n", "}\n\n@Test\n", "  void f() {\n    a();\n    "),
]  # fmt: skip


@pytest.mark.parametrize(("language", "document", "written", "placed"), PLACED)
def test_a_line_is_put_where_it_belongs(language: str, document: str, written: str, placed: str) -> None:
    assert read(document, written, language).partition("▮")[0] == placed


DOCUMENTS = st.sampled_from(sorted({(case[0], case[1]) for case in PLACED}))
PIECES = [
    "    ",
    "  ",
    "\t",
    " ",
    "\n",
    "a()",
    "return c",
    "}",
    "else:",
    "def f():",
    "@a",
    "x = [",
    "]",
    "```",
    "é",
    "end",
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@given(DOCUMENTS, TEXT)
def test_only_typed_blanks_are_replaced(place: tuple[str, str], written: str) -> None:
    language, document = place
    prefix, _, suffix = document.partition("▮")
    shown = Stopping.of(Complete(1, "1:x", language, prefix, suffix), SYNTAX.grammar(language)).trim(written)
    line = prefix.rpartition("\n")[2]
    assert 0 <= shown.replaces <= len(line)
    assert not line[len(line) - shown.replaces :].strip()
    assert shown.text or not shown.replaces
    assert shown.text == shown.text.rstrip()


@given(DOCUMENTS, TEXT)
def test_nothing_but_blanks_is_taken_from_the_beginning(place: tuple[str, str], written: str) -> None:
    language, document = place
    prefix, _, suffix = document.partition("▮")
    text = Stopping.of(Complete(1, "1:x", language, prefix, suffix), SYNTAX.grammar(language)).trim(written).text
    bare = written.replace("```", "").lstrip()
    assert bare.startswith(text.lstrip()) or "```" in written


@given(DOCUMENTS, TEXT)
def test_the_end_stays_where_it_is_while_text_arrives(place: tuple[str, str], written: str) -> None:
    language, document = place
    prefix, _, suffix = document.partition("▮")
    rules = Stopping.of(Complete(1, "1:x", language, prefix, suffix), SYNTAX.grammar(language))
    whole = rules.end(written)
    for length in range(len(written) + 1):
        assert rules.end(written[:length]) in (None, whole)
