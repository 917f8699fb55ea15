"""The end of a construct by the syntax tree: what is read once the answer is taken, the cursor behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.stopping import Stopping
from decoder.wire.messages import Complete
from tests.decoder.test_stopping import SYNTAX, read

PYTHON = [
    # indentation alone would end these early
    ('def f():▮\n', '\n    x = """\nSELECT 1\n"""\n    return x\ny = 2\n',
     '\n    x = """\nSELECT 1\n"""\n    return x'),
    ("x = [▮\n", "\n1,\n2,\n]\ny = 1\n", "\n1,\n2,\n]"),
    ("def f(▮\n", "\n    a,\n):\n    return a\nf(1)\n", "\n    a,\n):\n    return a"),
    ("try:▮\n", "\n    a()\nexcept X:\n    b()\nc()\n", "\n    a()\nexcept X:\n    b()"),
    ("if a:▮\n", "\n    b()\nelif c:\n    d()\nelse:\n    e()\nf()\n", "\n    b()\nelif c:\n    d()\nelse:\n    e()"),
    ("▮\n", "def f():\n    a = 1\n\n    return a\n\n\nx = 2\n", "def f():\n    a = 1\n\n    return a"),
    ("▮\n", "@a\ndef f():\n    b()\n\n    c()\nx = 2\n", "@a\ndef f():\n    b()\n\n    c()\nx = 2"),
    ("▮\n", 'x = """\n\nSELECT\n"""\n\ny = 2\n', 'x = """\n\nSELECT\n"""'),
    ("▮\n", "x = [\n\n1,\n]\n\ny = 2\n", "x = [\n\n1,\n]"),
    # and this one late
    ("    foo(▮\n", "a)\n    bar()\n", "a)"),
    # text that looks like it and is none
    ("def f():▮\n", '\n    return 1\nx = """\na\n"""\n', "\n    return 1"),
    ("def f():▮\n", "\n    return 1\nelsewhere = 2\n", "\n    return 1"),
    ("def f():▮\n", "\n    # why\n    return 1\n# another\n", "\n    # why\n    return 1"),
    ("def f():\n    ▮\n", "    a = 1\n\n    return a\n", "a = 1"),
    ("def f():\n    ▮\n", "    if a:\n        b()\n\n    c()\n", "if a:\n        b()"),
    ("def f():\n    ▮\n", "    if a:\n        b()\n\n        d()\n    c()\n",
     "if a:\n        b()\n\n        d()\n    c()"),
    # with errors, indentation decides
    ("def f():▮\n", "\n    x = g(a, b\n    y = = 2\nz = 3\n", "\n    x = g(a, b\n    y = = 2"),
]  # fmt: skip
BRACES = [
    ("javascript", "if (a) {▮\n", "\n  b();\n} else {\n  c();\n}\nd();\n", "\n  b();\n} else {\n  c();\n}"),
    ("javascript", "try {\n  a();\n} catch (e) {▮\n", "\n  b();\n} finally {\n  c();\n}\nd();\n",
     "\n  b();\n} finally {\n  c();\n}"),
    ("javascript", "foo(function () {▮\n", "\n  a();\n});\nb();\n", "\n  a();\n});"),
    ("javascript", "const x = `▮${a}`\n", "b\n", "b"),
    ("typescriptreact", "function A() {\n  return (▮\n}\n", "\n    <div>\n      <B />\n    </div>\n  );\n}\n",
     "\n    <div>\n      <B />\n    </div>\n  );"),
    ("go", "func f() {\n\tswitch x {▮\n}\n", "\n\tcase 1:\n\t\ta()\n\tdefault:\n\t\tb()\n\t}\n\tc()\n}\n",
     "\n\tcase 1:\n\t\ta()\n\tdefault:\n\t\tb()\n\t}"),
    ("go", "func f() {\n\t▮\n}\n", "\tif err := g(); err != nil {\n\t\treturn\n\t}\n\n\th()\n}\n",
     "if err := g(); err != nil {\n\t\treturn\n\t}"),
    ("rust", "fn f() {▮\n", "\n    let a = \"x\ny\";\n    g(a)\n}\n\nfn h() {\n",
     "\n    let a = \"x\ny\";\n    g(a)\n}"),
    ("java", "class A {\n    int f() {▮\n}\n", "\n        return 1;\n    }\n\n    int g() {\n",
     "\n        return 1;\n    }"),
    ("c", "int f(void) {▮\n", "\n    goto out;\nout:\n    return 1;\n}\n\nint g;\n",
     "\n    goto out;\nout:\n    return 1;\n}"),
    ("php", "function f() {▮\n", "\n    $a = 'x\ny';\n    return $a;\n}\n$c = 1;\n",
     "\n    $a = 'x\ny';\n    return $a;\n}"),
    ("ruby", "begin▮\n", "\n  a\nrescue\n  b\nend\nc\n", "\n  a\nrescue\n  b\nend"),
    ("css", "a {▮\n", "\n  color: red;\n}\nb {\n", "\n  color: red;\n}"),
    ("sql", "CREATE TABLE a (▮\n", "\n  id int,\n  name text\n);\nSELECT 1;\n", "\n  id int,\n  name text\n);"),
    ("json", '{\n  "a": [▮\n}\n', "\n1,\n2\n]\n}\n", "\n1,\n2\n]"),
    # no constructs: lines by their indentation
    ("yaml", "a:▮\n", "\n  b: 1\nc: 2\n", "\n  b: 1"),
    ("markdown", "# A (b\n▮\n", "c) d\n\ne\n", "c) d"),
    # a line that closes what it did not open
    ("javascript", "function f() {\n  ▮\n", "  a();\n}\n\nfunction g() {\n", "a();"),
]  # fmt: skip
LINES = [
    # a line goes on to close its own brackets
    ("x = ▮\n", "f(a,\n      b)\ny = 1\n", "f(a,\n      b)", "auto"),
    ("app.get('/', ▮\n", "(a) => {\n  b();\n});\nc();\n", "(a) => {\n  b();\n});", "auto"),
    # but not for ever, and not where one line was asked for
    ("x = ▮\n", "f(a,\n" + "  b,\n" * 9 + ")\n", "f(a,", "auto"),
    ("x = ▮\n", "f(a,\n      b)\ny = 1\n", "f(a,", "never"),
    ("x = ▮ + 1\n", "f(a,\n      b)\ny = 1\n", "f(a,", "auto"),
    ("x = ▮\n", "f('(')\ny = 1)\n", "f('(')", "auto"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "written", "left"), PYTHON)
def test_python(document: str, written: str, left: str) -> None:
    assert read(document, written, "python") == document.replace("▮", left + "▮")


@pytest.mark.parametrize(("language", "document", "written", "left"), BRACES)
def test_other_languages(language: str, document: str, written: str, left: str) -> None:
    assert read(document, written, language) == document.replace("▮", left + "▮")


@pytest.mark.parametrize(("document", "written", "left", "multiline"), LINES)
def test_a_single_line(document: str, written: str, left: str, multiline: str) -> None:
    assert read(document, written, "javascript", multiline) == document.replace("▮", left + "▮")  # type: ignore[arg-type]


def test_a_dedent_is_seen_at_its_first_word() -> None:
    rules = Stopping.of(Complete(1, "1:x", "python", "def f():", "\n"), SYNTAX.grammar("python"))
    written = "\n    return 1\n\n\nclass "
    assert rules.end(written) == rules.end(written + "A:\n") == len("\n    return 1\n\n")
    assert rules.end("\n    return 1\n\n\ne") is None, "it may become `else`"


PIECES = ["def f():", "    ", "\n", "\n    ", "x = [", "]", '"""', "(", ")", "else:", "}", "a", "# b", "é漢", "`", "@"]
TEXT = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(st.sampled_from([(case[0], "python") for case in PYTHON] + [(case[1], case[0]) for case in BRACES]), TEXT)
def test_the_end_stays_where_it_is_while_text_arrives(place: tuple[str, str], written: str) -> None:
    prefix, _, suffix = place[0].partition("▮")
    request = Complete(1, "1:x", place[1], prefix, suffix)
    rules = Stopping.of(request, SYNTAX.grammar(place[1]))
    whole = rules.end(written)
    for length in range(len(written) + 1):
        assert Stopping.of(request, SYNTAX.grammar(place[1])).end(written[:length]) in (None, whole)
