"""What users of other completions have reported: a document at its mark, what a model writes there, what is then read.

Cases of the protocol, of secrets, of processes and of memory are tested where those things live.
"""

from dataclasses import dataclass

import pytest
from lsprotocol.types import Position

from decoder.blank_line import prompted_prefix
from decoder.cursor_syntax import in_comment
from decoder.wire.messages import Answer, Complete, Trigger
from drafting.lines import to_lf
from drafting.syntax import Syntax
from lsp_server.documents import Document, Encoding
from lsp_server.request import completion_request
from lsp_server.settings import Settings
from tests.decoder.local import engine
from tests.fakes import ScriptedModel


@dataclass(frozen=True, slots=True)
class Case:
    """document: the cursor is at ▮. written: by a model that reads it. read: the document once the answer is taken."""

    name: str
    language: str
    document: str
    written: str
    read: str
    trigger: Trigger = "automatic"


CASES = [
    Case(
        "P05 a popup entry that was accepted is not written again",
        "javascript", "// log\nconsole.log▮\n", '("hi")\n', '// log\nconsole.log("hi")\n',
    ),
    Case(
        "P06 the closer that follows",
        "javascript",
        "function add(a, b) {\n  ▮\n}\n", "return a + b;\n}",
        "function add(a, b) {\n  return a + b;\n}\n",
    ),
    Case(
        "P06 the closer that follows, and another function",
        "javascript",
        "function add(a, b) {\n  ▮\n}\n", "return a + b;\n}\n\nfunction sub() {\n",
        "function add(a, b) {\n  return a + b;\n}\n",
    ),
    Case(
        "P07 the lines that follow",
        "python", "a = 1▮\nb = 2\nc = 3\n", "\nb = 2\nc = 3", "a = 1\nb = 2\nc = 3\n",
    ),
    Case(
        "P07 a new line and the one that follows",
        "python", "a = 1▮\nb = 2\nc = 3\n", "\na2 = 1\nb = 2", "a = 1\na2 = 1\nb = 2\nc = 3\n",
    ),
    Case(
        "P10 the line that was just accepted",
        "python", 'import log\nlog.info("start")\n▮', 'log.info("start")\n', 'import log\nlog.info("start")\n',
    ),
    Case(
        "P10 the same, asked for",
        "python",
        'import log\nlog.info("start")\n▮', 'log.info("start")\n',
        'import log\nlog.info("start")\nlog.info("start")',
        "invoked",
    ),
    Case(
        "P11 a loop of lines",
        "python",
        "def f(x):\n    ▮", "a = 1\n    b = 2\n" + "    x = f(x)\n" * 12,
        "def f(x):\n    a = 1\n    b = 2\n    x = f(x)",
    ),
    Case("P11 a loop within a line", "python", "def f(x):\n    ▮", "ab" * 60, "def f(x):\n    "),
    Case(
        "P15 a comment at an odd indentation",
        "typescript",
        "class A {\n    ▮\n}\n", "/**\n     * Adds.\n     */",
        "class A {\n    /**\n     * Adds.\n     */\n}\n",
    ),
    Case("P16 a blank before the cursor", "python", "value = ▮\n", " compute()", "value = compute()\n"),
    Case("P16 no blank before the cursor", "python", "value =▮\n", " compute()", "value = compute()\n"),
    Case("P16 a stray blank", "python", "def f():\n    ▮\n", " return 1", "def f():\n    return 1\n"),
    Case("P21 half a character", "python", "s = '▮\n", "\U0001f600" * 40, "s = '" + "\U0001f600" * 15 + "\n"),
    Case(
        "P26 a marker spelt out",
        "python",
        "def f(x):\n    ▮\n\nf(1)\n", "return x<|endoftext|>junk\n", "def f(x):\n    return x\n\nf(1)\n",
    ),
    Case(
        "P26 a fence",
        "python",
        "def f(x):\n    ▮\n\nf(1)\n", "```python\nreturn x\n```\nThis returns x.",
        "def f(x):\n    return x\n\nf(1)\n",
    ),
    Case(
        "P26 a marker of another family",
        "python",
        "def f(x):\n    ▮\n\nf(1)\n", "return x\n<fim_suffix>\n    f(2)", "def f(x):\n    return x\n\nf(1)\n",
    ),
]  # fmt: skip


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_what_is_read_once_the_answer_is_taken(case: Case, line_end: str) -> None:
    await check(case, case.written, line_end)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.document.partition("▮")[0].endswith("  ")], ids=lambda case: case.name
)
async def test_a_model_may_also_write_a_blank_line_from_its_first_column(case: Case) -> None:
    typed = case.document.partition("▮")[0].rpartition("\n")[2]
    await check(case, case.written if case.written.startswith("```") else typed + case.written)


async def check(case: Case, written: str, line_end: str = "\n") -> None:
    document = case.document.replace("\n", line_end)
    answer, _ = await completed(document, written, case.language, trigger=case.trigger)
    assert to_lf(taken(document, answer)) == case.read
    assert answer.text or answer.reason == "nothing_left_after_trim"


def taken(document: str, answer: Answer) -> str:
    """The document once the answer is taken."""
    prefix, _, suffix = document.partition("▮")
    return prefix[: len(prefix) - answer.replaces] + answer.text + suffix


@pytest.mark.parametrize("written", ["a()\n    " * 12, "ab" * 60], ids=["lines", "pieces"])
async def test_p11_a_loop_costs_less_than_the_budget(written: str) -> None:
    answer, _ = await completed("def f(x):\n    ▮", written, max_tokens=200)
    assert answer.tokens.output < 60
    assert answer.finish == ("stop" if answer.text else "none")


P14 = "def add(a, b):\n    c = []\n    for x in a:\n        c.append(x)\n"


async def test_p14_a_line_that_belongs_further_left_is_written_there() -> None:
    document = P14 + " " * 8 + "▮"
    answer, _ = await completed(document, "    return c")
    assert taken(document, answer) == P14 + "    return c"
    assert answer.replaces == 8


async def test_p14_a_line_that_belongs_here_leaves_the_blanks_alone() -> None:
    for written in ("        c.sort()", "c.sort()"):
        document = P14 + " " * 8 + "▮"
        answer, _ = await completed(document, written)
        assert (answer.text, answer.replaces) == ("c.sort()", 0)


async def test_p14_the_model_is_asked_from_the_start_of_a_blank_line() -> None:
    _, prompt = await completed(P14 + " " * 8 + "▮", "    return c")
    assert prompt.endswith("\n")


async def test_p17_line_ends_change_neither_prompt_nor_answer() -> None:
    document = "class A {\n    int f() {\n        ▮\n    }\n}\n"
    written = "return 1;\n    }\n}\n"
    (lf, lf_prompt), (crlf, crlf_prompt) = [
        await completed(document.replace("\n", end), written, "java") for end in ("\n", "\r\n")
    ]
    assert lf.text == crlf.text == "return 1;"
    assert lf_prompt == crlf_prompt
    assert "\r" not in crlf_prompt


@pytest.mark.parametrize(("encoding", "column"), [("utf-16", 13), ("utf-8", 19), ("utf-32", 12)])
async def test_p20_the_cursor_is_found_in_every_encoding(encoding: Encoding, column: int) -> None:
    document = Document("file:///x.py", "python", 1, 's = "😀漢字" + \n', encoding=encoding)
    request = completion_request(document, document.locate(Position(0, column)), Settings(), id=1)
    assert request.prefix == 's = "😀漢字" + '
    assert document.position(*document.locate(Position(0, column))) == Position(0, column)
    async with engine(ScriptedModel({request.prefix: "t\n"})) as made:
        assert (await made.complete(request)).text == "t"


@pytest.mark.parametrize(("encoding", "size"), [("utf-16", 4), ("utf-8", 10), ("utf-32", 3)])
@pytest.mark.parametrize(
    ("line", "inside"), [("x = 1  # 😀漢字▮", True), ('s = "😀漢字# ▮"', False), ('s = "😀漢字" + ▮', False)]
)
def test_p20_the_syntax_node_is_the_one_at_the_cursor(encoding: Encoding, size: int, line: str, inside: bool) -> None:
    before, _, after = line.partition("▮")
    document = Document("file:///x.py", "python", 1, before + after + "\n# é\n", encoding=encoding)
    column = len(before) - 3 + size
    request = completion_request(document, document.locate(Position(0, column)), Settings(), id=1)
    assert request.prefix == before
    assert in_comment(request, Syntax().grammar("python")) is inside


async def test_p21_a_budget_that_ends_within_a_character_begins_at_one() -> None:
    for budget in (61, 62):
        answer, prompt = await completed("μ" * 500 + "\nx = ▮", "1\n", cue="x = ", prompt_tokens=budget)
        assert answer.text == "1"
        assert "\ufffd" not in prompt


@pytest.mark.parametrize("eos", [256, 257])
async def test_p26_nothing_is_shown_from_the_end_of_text_on(eos: int) -> None:
    model = ScriptedModel({"def f(x):\n": "    return x"}, eos=eos)
    async with engine(model) as made:
        answer = await made.complete(Complete(1, "1:x.py", "python", "def f(x):\n    ", "\n\nf(1)\n"))
    assert (answer.text, answer.finish) == ("return x", "stop")
    assert bytes(model.held).decode().startswith("def f(x):\n"), "no marker was put before or behind"


@pytest.mark.parametrize(("prefix", "text"), [("", ""), ("\n", ""), ("x = ", "1"), ("x = 1\n", "y = 2")], ids=repr)
async def test_p30_odd_documents_are_answered(prefix: str, text: str) -> None:
    answer, _ = await completed(prefix + "▮", text)
    assert answer.text == text
    assert answer.text or answer.reason == "suppressed:nothing_before"


async def completed(
    document: str,
    written: str,
    language: str = "python",
    *,
    cue: str = "",
    trigger: Trigger = "automatic",
    max_tokens: int = 64,
    prompt_tokens: int = 2048,
) -> tuple[Answer, str]:
    """The answer of a model that writes `written` after `cue` (else after the prompted prefix), and its prompt."""
    prefix, _, suffix = document.partition("▮")
    request = Complete(
        1, "1:x", language, prefix, suffix, max_tokens=max_tokens, trigger=trigger, multiline="auto", draft="none"
    )
    model = ScriptedModel({cue or prompted_prefix(request): written})
    async with engine(model, prompt_tokens=prompt_tokens) as made:
        answer = await made.complete(request)
    return answer, bytes(model.held[: answer.tokens.prompt]).decode()
