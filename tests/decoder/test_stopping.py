import doctest
import re
import time
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.ending import closers, indentation, loops, overlap, partial, words
from decoder.stopping import Stopping
from decoder.wire.messages import Complete, Multiline
from drafting.syntax import Syntax

SYNTAX = Syntax()


def stopping(document: str, multiline: Multiline = "auto") -> Stopping:
    """Rules at the mark ▮."""
    prefix, _, suffix = document.partition("▮")
    return Stopping.of(Complete(1, "1:x", "", prefix, suffix, multiline=multiline))


def read(document: str, written: str, language: str, multiline: Multiline = "auto") -> str:
    """The document once the answer of a model is taken that writes so, by the rules with a grammar."""
    prefix, _, suffix = document.partition("▮")
    rules = Stopping.of(Complete(1, "1:x", language, prefix, suffix, multiline=multiline), SYNTAX.grammar(language))
    shown = rules.trim(written[: rules.end(written)])
    assert not prefix[len(prefix) - shown.replaces :].strip()
    return prefix[: len(prefix) - shown.replaces] + shown.text + "▮" + suffix


def offered(document: str, written: str, multiline: Multiline = "auto") -> str:
    """What is left of a model's text."""
    rules = stopping(document, multiline)
    return rules.trim(written[: rules.end(written)]).text


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
    ("x = ▮ + offset\n", "base + off", "base"),
    ("x = ▮ + offset\n", "base + other", "base + other"),
    ("x = ▮ or b\n", "a or", "a"),
    ("x = ▮ or b\n", "major", "major"),
    ("y = ▮, z\n", "f(1, 2), g", "f(1, 2), g"),
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
    # unless it begins what goes on in another way
    ("▮\n@Test\nvoid a() {\n", "@Test\nvoid b() {\n}\n", "@Test\nvoid b() {\n}"),
    ("▮\n@Test\nvoid a() {\n", "@Test\nvoid a() {\n}\n", ""),
    ("▮\n@Test\nvoid a() {\n", "@Test\nvoid a", ""),
    # a construct has a branch but once, and other constructs have it too
    ("if (a) {\n▮\n} else {\n  c\n}\n", "  b;\n} else {\n  d;\n}\n", "  b;"),
    # the sign of a comment alone says nothing
    ("a\n▮\n", "#\n\n" * 9, ""),
    ("a\n▮\n", "# b\n" * 9, "# b"),
    ("a\n▮\n", "//\n", ""),
    ("a /▮\n", "* b */\n", "* b */"),
    ("▮\nrescued {\n  a\n}\n", "rescued {\n  b\n}\n", "rescued {\n  b\n}"),
]
CLOSERS = [
    # a closer that stands on a line below
    ("foo(▮\n)\n", "a, b)\n", "a, b"),
    ("foo(\n    a,▮\n)\n", " b)\n", " b"),
    ("foo(\n    a,\n    ▮\n)\n", "b)\nbar()\n", "b"),
    ("foo({▮\n});\n", "\n  a: 1,\n})\nbar();\n", "\n  a: 1,"),
    ("x = [▮\n]\n", "\n    1,\n    f(2)]\n", "\n    1,\n    f(2)"),
    ("foo({▮})\n", " a: 1 })\n", " a: 1"),
    ("f(▮, 2)\n", "a, 2)\n", "a"),
    ("f(g(▮))\n", "x))\n", "x"),
    # one that is still wanted stays
    ("print(len(▮)\n", "x))\n", "x)"),
    ("foo(bar(▮\n)\n", "x))\n", "x)"),
    ("foo(▮\n}\n", "a, b) {\n", "a, b) {"),
    ("foo(\n    a,\n    ▮\n)\n", "g(b), [c]\n", "g(b), [c]"),
    ("foo(\n    a,\n    ▮\n}\n", "b)\n", "b)"),
    ("f({\n  a: {\n    b: 1\n  ▮\n});\n", "}\n});\n", "}"),
    ("f(() => {\n    g(() => {\n      h();\n    ▮\n});\n", "})\n});\n", "})"),
    ("if (x) {▮\n}\n", "\n  a();\n} else {\n  b();\n}\n", "\n  a();"),
    ("foo(▮\n)\n", "x,  # :)\n", "x,  # :)"),
]
INDENTATION = [
    ("value = ▮\n", " compute()\n", "compute()"),
    ("value =▮\n", " compute()\n", " compute()"),
    ("def f():\n    ▮\n", " return 1\n", "return 1"),
    ("def f():\n    ▮\n", "    return 1\n    x = 2\n", "return 1\n    x = 2"),
    ("def f():\n\t▮\n", "\treturn 1\n", "return 1"),
    ("for x in a:\n        c.append(x)\n        ▮\n", "    return c\n", ""),
    # blanks that are meant stay
    ("aa = 2\nb ▮\n", " = 1\n", " = 1"),
    ("x = 1 ▮\n", " # one\n", " # one"),
    ("x = 1▮\n", "  # one\n", "  # one"),
    ("if x:\n▮\n", "    return 1\n", "    return 1"),
    ("if x:\n    if y:\n    ▮\n", "    return 1\n", "    return 1"),
    ("class A:\n    a = 1\n    def f():\n        b()\n ▮\n", "   c = 1\n", "   c = 1"),
    ("f(\n    a,\n)\ng(\n  ▮\n)\n", "    a,\n", "  a,"),
    ("class A {\n    /**\n    ▮\n", " * Adds.\n     */\n", " * Adds.\n     */"),
    ("    foo(a,\n    ▮\n", "        b)\n", "    b)"),
    ("  foo()\n  ▮\n", "    .then(x)\n", "  .then(x)"),
    ("steps:\n  - name: x\n  ▮\n", "    image: y\n", "  image: y"),
    ("if x:\n        y = 1\n    ▮\n", "        z = 2\n", "    z = 2"),
    ("class A {\n    ▮\n}\n", "/**\n     * Adds.\n     */\n", "/**\n     * Adds.\n     */"),
]
REPEATS = [
    # the line before the cursor, once more
    ('log.info("start")▮\n', '\nlog.info("start")\n', ""),
    ('log.info("start")\n▮\n', 'log.info("start")\n', ""),
    ('    log.info("start")\n\n    ▮\n', 'log.info("start")\n    x()\n', ""),
    # data, brackets and other places look like it
    ("x = [\n    0,\n    ▮\n", "0,\n", "0,"),
    ("<tr>\n  <td></td>\n  ▮\n", "<td></td>\n", "<td></td>"),
    ("a {\n  b {\n  }\n▮\n", "}\n", "}"),
    ("f()\n    ▮\n", "f()\n", "f()"),
    ("f()\ng()\n▮\n", "f()\n", "f()"),
    # loops of lines
    ("def f():▮\n", "\n    a = 1\n" + "    x = f(x)\n" * 12, "\n    a = 1\n    x = f(x)"),
    ("def f():▮\n", "\n    a()\n    b()" * 4, "\n    a()\n    b()"),
    ("def f():▮\n", "\n    a()\n    a()\n    b()\n", "\n    a()\n    a()\n    b()"),
    ("x = [▮\n", "\n" + "    [0, 0],\n" * 4 + "]\n", "\n" + "    [0, 0],\n" * 4 + "]"),
    ("x = [▮\n", "\n" + "    [0, 0],\n" * 30, "\n    [0, 0],"),
    ("f(1)\nf(2)\n▮\n", "f(3)\nf(4)\nf(5)\nf(6)\n", "f(3)\nf(4)\nf(5)\nf(6)"),
    # loops within a line
    ("x = 1\n▮\n", "ab" * 60, ""),
    ("x = 1\n▮\n", "y = 2\n" + "foo.bar." * 20, "y = 2"),
    ("x = 1\n▮\n", "# " + "-" * 76 + "\n", "# " + "-" * 76),
    ("x = {▮\n", "\n    " + "0x00, " * 16 + "\n", "\n    " + "0x00, " * 15 + "0x00,"),
    ("x = 1\n▮\n", "ha" * 12 + "\n", "ha" * 12),
]
WRAPPED = [
    ("def f():\n    ▮\n", "```python\nreturn x\n```\nThis returns x.", "return x"),
    ("def f():▮\n", "\n```python\n    return x\n```", "\n    return x"),
    ("x = ▮\n", "```\n1\n```\n", "1"),
    ("x = ▮\n", "```py", ""),
    ("x = ▮\n", "```" + "ab" * 30 + "\n", ""),
    ("x = ▮\n", "1<|endoftext|>junk", "1"),
    ("def f():▮\n", "\n    return 1\n<fim_suffix>\n    return 2\n", "\n    return 1"),
    ("x = ▮\n", "1<｜fim▁end｜>", "1"),
    ("x = ▮\n", "1 <PRE> 2", "1"),
    ("x = ▮\n", "1<|fim_mid", "1"),
    ("x = ▮\n", "'\ufffd\ufffd'", "'"),
    # a document may speak of them
    ('END = "<|endoftext|>"\nx = ▮\n', '"<|fim_middle|>"\n', '"<|fim_middle|>"'),
    ('"""\n```sh\nmake\n▮\n', "```\n", "```"),
    ("x = ▮\n", "a <| f(b) |> c\n", "a <| f(b) |> c"),
    ("cat ▮\n", "<<EOT>out\n", "<<EOT>out"),
    ("x = ▮\n", "f <|g", "f <|g"),
    ("std::▮\n", "vector<file_handle", "vector<file_handle"),
    ("std::▮\n", "vector<MID> x;\n", "vector<MID> x;"),
    ("p = ▮\n", "<pre>x</pre>\n", "<pre>x</pre>"),
    ("x = ▮\n", "`a`\n", "`a`"),
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
    ("if x:\n▮\n", "    return 1\ny = 2\n", "    return 1"),
    ("if x:\n▮\n", "    if y:\n        f()\n    return 1\n", "    if y:\n        f()\n    return 1"),
    ("x = 1\n▮\n", "if x:\n    f()\ny = 2\n", "if x:\n    f()\ny = 2"),
    # a blank line where the closer alone is written again
    ("function f() {\n  a();\n▮\n}\n", "}\n", ""),
    ("x = [\n    1,\n▮\n]\n", "    2,\n]\nz\n", "    2,"),
    # blank lines before the first text are not the end of everything
    ("import os\n▮\n", "\n\ndef f():\n    return 1\n\n\nx = 2\n", "\n\ndef f():\n    return 1"),
    ("import os\n▮\n", "\ndef f():\n    return 1\n\n\nx = 2\n", "\ndef f():\n    return 1"),
]
CASES = SINGLE + CLOSERS + INDENTATION + REPEATS + WRAPPED + BLOCKS


@pytest.mark.parametrize(("document", "written", "left"), CASES)
def test_what_is_offered(document: str, written: str, left: str) -> None:
    assert offered(document, written) == left


@pytest.mark.parametrize(("document", "written", "left"), CASES)
def test_line_ends_of_the_document_make_no_difference(document: str, written: str, left: str) -> None:
    assert offered(document.replace("\n", "\r\n"), written) == left


@pytest.mark.parametrize(("document", "left"), [(case[0], case[2]) for case in CASES if "'" not in case[1]])
def test_a_suggestion_never_closes_twice_what_it_did_not_open(document: str, left: str) -> None:
    assert max(_unmatched(document.replace("▮", left))) <= max(0, *_unmatched(document.replace("▮", "")))


def _unmatched(text: str) -> list[int]:
    """Closers without an opener, by kind; brackets in strings and comments do not count."""
    bare = re.sub(r'"[^"]*"|# .*', "", text)
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


SO_FAR = [
    # whole words of a line
    ("x = ▮\n", "compute(a, b", "compute(a,"),
    ("x = ▮\n", "compute(a) ", "compute(a)"),
    ("x = ▮\n", "compute(", "compute"),
    ("x = ▮\n", "a =", "a"),
    ("x = ▮\n", "3.1", ""),
    ("x = ▮\n", "comp", ""),
    ("x = ▮\n", "1<|fim_mid", ""),
    ("x = ▮\n", "f()<|fim_mid", "f()"),
    ("import os▮\n", "\nimport s", "\nimport"),
    # whole lines of a block, and not one that opens what would be left hanging
    ("def f():▮\n", "\n    a = 1\n    b = ", "\n    a = 1"),
    ("def f():▮\n", "\n    a = 1\n    if a:\n        b", "\n    a = 1"),
    ("def f():▮\n", "\n    if a:\n        b", "\n    if a:"),
    ("def f():▮\n", "\n    a = 1", ""),
    ("def f():\n    ▮\n", "    return co", ""),
    # what is complete is so
    ("x = ▮\n", "compute(a)\ny", "compute(a)"),
]


@pytest.mark.parametrize(("document", "written", "left"), SO_FAR)
def test_what_is_shown_when_there_is_no_more_time(document: str, written: str, left: str) -> None:
    rules = stopping(document)
    assert rules.trim(written[: rules.so_far(written)]).text == left


PIECES = [*"ab {}()\n\t:;\"'", "\n    ", "a = f(b)\n", "```", "<|fim_end|>", "ab" * 9, "# ", "end\n"]
TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
DOCUMENT = st.sampled_from([case[0] for case in CASES])


@given(DOCUMENT, TEXT)
@pytest.mark.trap(24)
def test_the_end_does_not_depend_on_how_the_text_arrives(document: str, written: str) -> None:
    rules = stopping(document)
    whole = rules.end(written)
    for length in range(len(written) + 1):
        assert rules.end(written[:length]) in (None, whole)


@given(DOCUMENT, TEXT)
def test_what_is_complete_so_far_is_a_part_of_the_text_before_its_end(document: str, written: str) -> None:
    rules = stopping(document)
    end, so_far = rules.end(written), rules.so_far(written)
    assert 0 <= so_far <= len(written)
    assert end is None or so_far == end


@given(DOCUMENT, TEXT)
def test_trimming_only_takes_away_from_both_ends(document: str, written: str) -> None:
    left = stopping(document).trim(written).text
    assert left == left.rstrip()
    assert left in written.replace("```", "") or left in written
    blank = written[: written.find(left)].replace("```", "").strip()
    assert not left or not blank or blank.isalnum(), "a fence has a language"


@given(DOCUMENT, TEXT)
def test_nothing_goes_beyond_the_line_where_text_follows_the_cursor(document: str, written: str) -> None:
    rules = stopping(document)
    if rules.around.rest:
        assert "\n" not in rules.trim(written).text


@pytest.mark.parametrize("piece", ["x = f(x)\n", "a, ", "(", "    ", "\n", "```", "abcdefghijklmnopqrstuvw0", "0x00, "])
def test_long_texts_are_judged_in_linear_time(piece: str) -> None:
    rules = stopping("foo(\n    ▮\n)\n")
    seconds = [_seconds(rules, piece * count) for count in (2_000, 16_000)]
    assert seconds[1] < 30 * max(seconds[0], 0.001)


def _seconds(rules: Stopping, text: str) -> float:
    begun = time.process_time()
    rules.end(text)
    rules.trim(text)
    return time.process_time() - begun


@pytest.mark.parametrize(
    "module", [closers, indentation, loops, overlap, partial, words], ids=lambda module: module.__name__
)
def test_the_examples_in_the_modules_hold(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
