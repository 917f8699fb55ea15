"""What is left of ghost text once the person has typed along; `▮` is the cursor."""

import doctest
import time

import pytest

import lsp_server.closers
import lsp_server.ghost
from decoder.wire.messages import Answer, Complete, Multiline, Shown, Trigger
from lsp_server.documents import Document
from lsp_server.ghost import MAX_DOCUMENTS, NEARBY, PER_DOCUMENT, Ghost
from lsp_server.request import completion_request
from lsp_server.settings import Settings

A = "file:///a.py"
LONG = "".join(f"value_{number} = {number}\n" for number in range(5_000))


def request(
    marked: str,
    *,
    document: str = A,
    language: str = "python",
    trigger: Trigger = "automatic",
    multiline: Multiline = "auto",
    comments: bool = True,
    max_tokens: int = 64,
) -> Complete:
    prefix, suffix = marked.split("▮")
    return Complete(
        1,
        document,
        language,
        prefix,
        suffix,
        max_tokens=max_tokens,
        multiline=multiline,
        trigger=trigger,
        comments=comments,
    )


def ghost(marked: str, text: str, *, replaces: int = 0, alternatives: tuple[Shown, ...] = ()) -> Ghost:
    """One that has seen `text` offered at the mark."""
    seen = Ghost()
    seen.remember(request(marked), Answer(7, text, replaces, alternatives))
    return seen


def accepted(marked: str, answer: Answer | None) -> str | None:
    """The document once the rest is taken."""
    if answer is None:
        return None
    before, after = marked.split("▮")
    return before[: len(before) - answer.replaces] + answer.text + after


def test_the_examples_in_the_modules_hold() -> None:
    assert doctest.testmod(lsp_server.ghost).failed == doctest.testmod(lsp_server.closers).failed == 0


@pytest.mark.parametrize("around", ["{}", LONG + "{}", "{}\n" + LONG, LONG + "{}\n" + LONG])
@pytest.mark.parametrize(
    ("now", "left"),
    [
        ("x = ▮", "compute(a)"),  # asked again
        ("x = c▮", "ompute(a)"),  # a key
        ("x = compute▮", "(a)"),  # a word was accepted
        ("x = compute(a▮", ")"),
        ("x = compute(a)▮", None),  # all was accepted: the decoder knows what comes next
        ("x = d▮", None),
        ("x = compute(b▮", None),
        ("x = compute(a)\n▮", None),
        ("x =▮", None),  # behind where it began
        ("y = c▮", None),  # elsewhere
        ("x = c▮ + 1", None),  # the text after the cursor belongs to it
    ],
)
def test_the_rest_is_what_the_person_has_not_typed_yet(around: str, now: str, left: str | None) -> None:
    answer = ghost(around.format("x = ▮"), "compute(a)").rest(request(around.format(now)))
    assert (answer and answer.text) == left
    assert answer is None or (answer.id, answer.replaces) == (7, 0)


def test_keys_that_are_taken_back_bring_the_rest_back() -> None:
    seen = ghost("x = ▮", "compute(a)")
    for now, left in [("x = com▮", "pute(a)"), ("x = comq▮", None), ("x = com▮", "pute(a)"), ("x = c▮", "ompute(a)")]:
        answer = seen.rest(request(now))
        assert (answer and answer.text) == left


@pytest.mark.parametrize(
    ("above", "below", "holds"),
    [
        ("import os\n" + LONG, LONG, True),
        (LONG[:9] + "import os\n" + LONG[9:], LONG, False),
        (LONG[:12] + "import os\n" + LONG[12:], LONG, True),
        (LONG[60_000:], LONG, True),  # the window begins further below
        ("def b(): ...\n" + LONG, LONG[:-9], True),
        (LONG.replace("value_9 ", "price_9 "), LONG, False),  # a name that may be in the suggestion
        (LONG.replace("value_9 = 9\n", ""), LONG, False),
        (LONG, LONG.replace("value_300 ", "price_300 "), False),
        (LONG + "# new\n", LONG, False),
        (LONG, "# new\n" + LONG, False),
    ],
)
def test_only_lines_that_were_added_far_above_change_nothing(above: str, below: str, holds: bool) -> None:
    seen = ghost(LONG + "x = ▮\n" + LONG, "compute(a)")
    assert (seen.rest(request(above + "x = c▮\n" + below)) is not None) == holds


@pytest.mark.parametrize("above", ["", "a\n", "a\n" * NEARBY])
def test_text_that_repeats_itself_is_not_offered_again_when_it_was_accepted(above: str) -> None:
    assert ghost(above + "▮", "a\na\nb").rest(request(above + "a\na\nb▮")) is None
    assert ghost(above + "▮", "a\na\n").rest(request(above + "a\na\n▮")) is None


def test_text_that_repeats_itself_can_be_typed_along() -> None:
    # the place was looked for, and the first that looked the same was taken
    assert ghost("a\n" * NEARBY + "▮", "a\nb").rest(request("a\n" * NEARBY + "a▮")) == Answer(7, "\nb")


@pytest.mark.parametrize(
    ("began", "text", "now", "taken"),
    [
        # a closer that the editor put there is not written again
        ("▮\nx", "print(a)", "print(▮)\nx", "print(a)\nx"),
        ("▮\nx", "print(a) + 1", "print(▮)\nx", "print(a)\nx"),
        ("▮\nx", "print(a) + 1", "print(a)▮\nx", "print(a) + 1\nx"),  # typed over it
        ("▮", "f(g(a), b)", "f(g(▮))", "f(g(a))"),
        ("▮", "f(g(a), b)", "f(g(a)▮)", "f(g(a), b)"),
        ("▮", "f(')')", "f(▮)", "f(')')"),
        ("▮", 'x = "it"', 'x = "▮"', 'x = "it"'),
        ("▮", r'x = "a\"b"', 'x = "▮"', r'x = "a\"b"'),
        ("▮", 'print("it")', 'print("▮")', 'print("it")'),
        ("▮", '"""Docs."""\nx', '"""▮"""', '"""Docs."""'),
        ("▮", '"""Docs."""\nx', '"""Do▮"""', '"""Docs."""'),
        ("▮", 'x = "it"', 'x = "▮""', None),
        ("▮)", "f(a)", "f(▮))", "f(a))"),
        ("f▮\n", " {\n    return 1;\n}", "f {\n    ▮\n}\n", "f {\n    return 1;\n}\n"),
        ("f {▮}\n", "\n    return 1;\n", "f {\n    ▮\n}\n", "f {\n    return 1;\n}\n"),  # Enter moves it down
        ("f {▮}\n", "\n    a;\n    b;", "f {\n    a▮\n}\n", "f {\n    a;\n    b;\n}\n"),
        ("f {▮}\n", "\n    a;\n    b;", "f {\n    a;▮\n\n}\n", None),
        ("f▮}\n", "(a)", "f▮\n}\n", None),  # it was no Enter of the text's own
        ("f▮\n", "(() => {\n    g(a);\n});", "f(() => {\n    g(▮)\n})\n", "f(() => {\n    g(a)\n})\n"),
        ("f▮\n", "(() => {\n    g(a);\n});", "f(() => {\n    g(a);▮\n});\n", None),
        ("▮", "fn f<'a>(x: &'a str) -> &'a str {", "fn f<'a>(▮)", "fn f<'a>(x: &'a str)"),
        ("▮", "f('a)', b) + 1", "f(▮)", "f('a)', b)"),
        # what the text itself leaves open stays as it is
        ("▮", "print(a", "print(▮)", "print(a)"),
        # no closer of ours: the text after the cursor changed
        ("▮\nx", "print(a)", "p▮)\nx", None),
        ("▮\nx", "f(a) + b", "f(a)▮)\nx", None),
        ("▮\nx", "print(a)", "print(▮]\nx", None),
        ("▮)\nfoo", "print(a)", "print(▮)", None),
        ("▮", 'x = ""', 'x = "▮"', None),  # nothing is left
    ],
)
def test_exactly_one_closer_stands_there_in_the_end(began: str, text: str, now: str, taken: str | None) -> None:
    assert accepted(now, ghost(began, text).rest(request(now))) == taken


def test_a_closer_at_the_edge_of_the_window_is_seen() -> None:
    seen = ghost("▮\n" + LONG, "print(a)")
    answer = seen.rest(request("print(▮)\n" + LONG))
    assert answer is not None
    assert answer.text == "a"


@pytest.mark.parametrize(
    ("now", "taken"),
    [
        ("def f():\n▮", "def f():\n    return x"),
        ("def f():\n  ▮", "def f():\n    return x"),
        ("def f():\n    ▮", "def f():\n    return x"),
        ("def f():\n        ▮", "def f():\n    return x"),  # the editor indented too far
        ("def f():\n\t▮", "def f():\n    return x"),
        ("def f():\n    re▮", "def f():\n    return x"),
        ("def f():\n        re▮", None),  # the person writes there
        ("def f():    ▮", None),
        ("def f():\n\n▮", None),
    ],
)
def test_enter_and_the_indentation_of_the_editor_lead_to_the_same_line(now: str, taken: str | None) -> None:
    assert accepted(now, ghost("def f():▮", "\n    return x").rest(request(now))) == taken


def test_blanks_that_a_person_adds_where_the_text_begins_diverge() -> None:
    assert ghost("def f():\n    ▮", "return x").rest(request("def f():\n        ▮")) is None


@pytest.mark.parametrize(
    ("now", "taken"),
    [
        ("a\n        ▮", "a\n    return c"),
        ("a\n      ▮", "a\n    return c"),
        ("a\n    ▮", "a\n    return c"),
        ("a\n▮", "a\n    return c"),
        ("a\n    ret▮", "a\n    return c"),
        ("a\n        r▮", None),
        ("a\n         ▮", None),
    ],
)
def test_a_text_that_takes_blanks_back_goes_on_taking_them_back(now: str, taken: str | None) -> None:
    assert accepted(now, ghost("a\n        ▮", "    return c", replaces=8).rest(request(now))) == taken


def test_what_is_only_blank_is_nothing() -> None:
    assert ghost("x▮", "(a)\n    ").rest(request("x(a)▮")) is None
    assert ghost("x▮", "  \n").rest(request("x▮")) is None


def test_line_ends_are_no_difference() -> None:
    # the answer is in LF, whatever the document has
    seen = ghost("if a:\r\n    b▮\r\nend\r\n", "()\n    c()")
    answer = seen.rest(request("if a:\r\n    b()\r\n    ▮\r\nend\r\n"))
    assert answer is not None
    assert answer.text == "c()"


def test_it_holds_for_its_document_its_language_and_its_settings_alone() -> None:
    seen = ghost("x = ▮", "compute(a)")
    assert seen.rest(request("x = c▮")) is not None
    assert seen.rest(request("x = c▮", document="file:///b.py")) is None
    assert seen.rest(request("x = c▮", language="rust")) is None
    assert seen.rest(request("x = c▮", multiline="never")) is None
    assert seen.rest(request("x = c▮", comments=False)) is None
    assert seen.rest(request("x = c▮", max_tokens=9)) is None, "a changed setting took hold only at another place"


def test_who_asks_explicitly_gets_something_new_and_can_type_along_with_it() -> None:
    seen = Ghost()
    seen.remember(request("x = ▮", trigger="invoked"), Answer(7, "first"))
    assert seen.rest(request("x = f▮", trigger="invoked")) is None
    assert seen.rest(request("x = f▮")) == Answer(7, "irst")


def test_of_several_candidates_those_remain_along_which_was_typed() -> None:
    seen = ghost("x = ▮", "call(a)", alternatives=(Shown("call(b)"), Shown("other")))
    assert seen.rest(request("x = call(▮")) == Answer(7, "a)", alternatives=(Shown("b)"),))
    assert seen.rest(request("x = o▮")) == Answer(7, "ther")
    assert seen.rest(request("x = call(▮)")) == Answer(7, "a", alternatives=(Shown("b"),))


def test_what_was_selected_before_is_still_known() -> None:
    seen = ghost("console.log▮", '("hi")')
    seen.remember(request("console.error▮"), Answer(8, "(e)"))
    for now, rest in [("console.log▮", Answer(7, '("hi")')), ("console.error(▮", Answer(8, "e)"))]:
        assert seen.rest(request(now)) == rest


def test_it_keeps_a_few_answers_of_a_few_documents() -> None:
    seen = Ghost()
    for number in range(PER_DOCUMENT + 1):
        seen.remember(request(f"x{number}▮"), Answer(number, "text"))
    assert seen.rest(request("x0▮")) is None
    assert seen.rest(request("x1▮")) is not None
    for number in range(MAX_DOCUMENTS):
        seen.remember(request("x▮", document=f"file:///{number}.py"), Answer(1, "text"))
    assert seen.rest(request("x1▮")) is None
    assert seen.rest(request("x▮", document="file:///0.py")) is not None
    seen.forget("file:///0.py")
    assert seen.rest(request("x▮", document="file:///0.py")) is None


@pytest.mark.parametrize("line", ["    total_{} += 1\n", "\n", "{}" + "a" * 200 + "\n"])
def test_typing_along_costs_less_than_five_milliseconds_in_a_long_document(line: str) -> None:
    text = "total = sum([" + ", ".join(str(number) for number in range(400)) + "])"
    lines = "".join(line.format(number) for number in range(10_000))
    document = Document(A, "python", 1, lines, encoding="utf-16")
    settings, seen = Settings(), Ghost()
    for column in reversed(range(PER_DOCUMENT)):  # the one that fits is the last to be looked at
        document.lines[5_000] = " " * column + "\n"
        here = completion_request(document, (5_000, column), settings, id=1)
        seen.remember(here, Answer(1, "no", alternatives=(Shown("not this"), Shown("  " + text))))
    seconds = []
    for length in range(300):
        document.lines[5_000] = "     " + text[:length] + "\n"
        began = time.process_time()  # of this process alone: others are busy on the machine
        answer = seen.rest(completion_request(document, (5_000, 5 + length), settings, id=1))
        seconds.append(time.process_time() - began)
        assert line == "\n" or (answer and answer.text) == text[length:]
    assert sorted(seconds)[len(seconds) * 99 // 100] <= 0.005
