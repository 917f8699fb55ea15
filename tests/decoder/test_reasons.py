"""The ring of reasons, and that each reason there is has a sentence for people."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoder.reasons import CAPACITY, ReasonRing
from decoder.wire.reasons import REASONS, explanation

ROOT = Path(__file__).resolve().parents[2]


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def told(ring: ReasonRing, document: str = "") -> list[tuple[str, str]]:
    return [(entry.document, entry.reason) for entry in ring.reasons(document).entries]


def test_the_newest_comes_first_and_the_oldest_goes() -> None:
    ring = ReasonRing()
    for number in range(CAPACITY + 10):
        ring.add(f"{number}.py", "python", "loading")
    documents = [document for document, _ in told(ring)]
    assert documents == [f"{number}.py" for number in range(CAPACITY + 9, 9, -1)]


def test_ages_are_by_the_clock() -> None:
    clock = Clock()
    ring = ReasonRing(clock)
    ring.add("a.py", "python", "loading")
    clock.now = 2.5
    ring.add("b.py", "python", "loading")
    clock.now = 4.0
    assert [entry.seconds_ago for entry in ring.reasons().entries] == [1.5, 4.0]


def test_overtaken_requests_of_a_document_count_as_the_latest_of_them() -> None:
    clock = Clock()
    ring = ReasonRing(clock)
    for clock.now, document, reason in (
        (1.0, "a.py", "superseded"),
        (2.0, "b.py", "superseded"),
        (3.0, "a.py", "cancelled"),
        (4.0, "a.py", "superseded"),
    ):
        ring.add(document, "python", reason)
    assert told(ring) == [("a.py", "superseded"), ("b.py", "superseded")]
    assert [entry.seconds_ago for entry in ring.reasons().entries] == [0.0, 2.0]


def test_others_count_each_and_part_those_that_were_overtaken() -> None:
    ring = ReasonRing()
    for reason in ("superseded", "loading", "loading", "superseded"):
        ring.add("a.py", "python", reason)
    assert [reason for _, reason in told(ring, "a.py")] == ["superseded", "loading", "loading", "superseded"]


# Sentences


def reasons_in(tree: ast.AST) -> Iterator[str]:
    """What a source file gives as a reason: rules by their form, others by where they stand."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if re.fullmatch(r"suppressed:\w+", text):
                yield text
            case ast.keyword(arg="reason", value=value):
                yield from texts(value)
            case ast.FunctionDef(name=name, returns=ast.Name("str")) if "reason" in name or "silence" in name:
                returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value]
                yield from (text for value in returned for text in texts(value))
            case ast.Assign(targets=targets, value=value) if "_no_decoder" in ast.unparse(targets[-1]):
                parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
                yield from (text for part in parts for text in texts(part))
            case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in CANCELLING:
                yield from (text for argument in arguments for text in texts(argument))


CANCELLING = {"cancel", "cancel_all", "note"}


def texts(node: ast.expr) -> Iterator[str]:
    """Every text that an expression may be."""
    match node:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from [*texts(body), *texts(orelse)]


def produced() -> set[str]:
    """The reasons of empty answers in the code base, without what follows `: `."""
    files = [path for room in ("decoder", "lsp_server") for path in (ROOT / room).rglob("*.py")]
    found = {reason for path in files for reason in reasons_in(ast.parse(path.read_text(encoding="utf-8")))}
    return {reason.partition(": ")[0] for reason in found if re.fullmatch(r"[a-z_]+(:\w+)?(: .*)?", reason)}


def test_every_reason_in_the_code_has_a_sentence() -> None:
    found = produced()
    assert found >= {"loading", "superseded", "engine_error", "suppressed:inside_word", "decoder_gone"}
    assert not found - set(REASONS), "add a sentence for each to decoder/wire/reasons.py"


def test_every_sentence_belongs_to_a_reason_in_the_code() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for room in ("decoder", "lsp_server")
        for path in (ROOT / room).rglob("*.py")
        if path.name != "reasons.py"
    )
    assert [reason for reason in REASONS if f'"{reason}' not in sources and f"{reason}:" not in sources] == []


@pytest.mark.parametrize("reason", REASONS)
def test_a_sentence_says_what_to_do(reason: str) -> None:
    if reason == "engine_error":  # the remedy comes with what went wrong
        assert explanation("engine_error: no disk; mount it") == "It failed: no disk; mount it"
        return
    assert re.fullmatch(r"[A-Z].*(:|;|,).*\.", explanation(reason))


def test_a_reason_of_a_later_version_is_shown_as_it_is() -> None:
    assert "suppressed:other" in explanation("suppressed:other")


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("suppressed:language: c++", "The setting `languages` leaves c++ out: change it there."),
        ("suppressed:excluded: git ignores {it}: x", "The file is kept from the decoder: git ignores {it}: x."),
    ],
)
def test_what_is_known_precisely_is_told_instead_of_what_it_may_be(reason: str, sentence: str) -> None:
    assert explanation(reason) == sentence
    assert explanation(reason.partition(": ")[0]) == REASONS[reason.partition(": ")[0]]
