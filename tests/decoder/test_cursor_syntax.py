import pytest

from decoder.cursor_syntax import in_comment
from decoder.wire.messages import Complete
from drafting.syntax import Syntax

SYNTAX = Syntax()


@pytest.mark.parametrize(
    ("language", "document", "inside"),
    [
        ("python", "x = 1  # why ▮\ny = 2\n", True),
        ("python", "# 😀漢字 ▮", True),
        ("python", "#▮\n", True),
        ("javascript", "// why\n/* é\n * ▮\n */\nf();\n", True),
        ("javascript", "f();\n/**\n * ▮", True),
        ("rust", "/// Adds ▮\nfn f() {}\n", True),
        ("go", "func f() { // ▮\n}\n", True),
        ("c", "int x; /* ▮ */ int y;\n", True),
        ("html", "<p>\n<!-- ▮\n</p>\n", True),
        ("sql", "SELECT 1 -- ▮\n", True),
        # what looks like it
        ("python", "# why\n▮\n", False),
        ("python", "# why\n▮x = 1\n", False),
        ("python", 'x = "# ▮"\n', False),
        ("python", 'def f():\n    """Adds ▮\n    """\n', False),
        ("javascript", "/* a */ f(▮);\n", False),
        ("javascript", "f('/* ', ▮);\n", False),
        ("c", "#define A ▮\n", False),
        ("css", "a { color: #f▮; }\n", False),
        ("python", "▮# why\n", False),
    ],
)
def test_comments_are_found(language: str, document: str, inside: bool) -> None:
    prefix, _, suffix = document.partition("▮")
    for end in ("\n", "\r\n"):
        request = Complete(1, "1:x", language, prefix.replace("\n", end), suffix.replace("\n", end))
        assert in_comment(request, SYNTAX.grammar(language)) is inside


def test_a_comment_is_found_at_the_end_of_a_long_text() -> None:
    request = Complete(1, "1:x", "python", "漢 = '字'\n" * 4000 + "# ", "\n" + "y = 1\n" * 500)
    assert in_comment(request, SYNTAX.grammar("python"))


def test_without_a_grammar_nothing_is_a_comment() -> None:
    assert not in_comment(Complete(1, "1:x", "cobol", "* ", ""), SYNTAX.grammar("cobol"))
