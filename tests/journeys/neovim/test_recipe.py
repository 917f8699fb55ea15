"""Neovim as a person has it: the recipe of editors/README.md, a real file, real keys, and what then stands there."""

import re

import pytest

from tests.fakes import ScriptedDecoder
from tests.journeys.neovim.author import author
from tests.journeys.neovim.desk import Desk
from tests.journeys.neovim.play import play

pytestmark = pytest.mark.editor

ARITHMETIC = '''"""Arithmetic."""


def add(left, right):
    """The sum of two numbers."""
    return left + right


def subtract(left, right):
    """The difference of two numbers."""
'''


@pytest.mark.starter
def test_ghost_text_is_shown_and_accepted_and_the_decoder_learns_of_it(real_desk: Desk) -> None:
    file = real_desk.write("arithmetic.py", ARITHMETIC)

    report = real_desk.play(
        file,
        {"keys": "Goreturn "},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "accepted"},
        {"await": "quiet"},
        {"keys": "<Esc>:w<CR>"},
    )

    shown, accepted = report.snapshots["shown"], report.snapshots["accepted"]
    assert shown.ghost is not None
    assert shown.ghost.text.strip()
    assert accepted.text == shown.text_with_ghost
    assert file.read_text(encoding="utf-8") == accepted.text + "\n"
    real_desk.stop_decoder()
    assert real_desk.left_behind() == {}
    (feedback,) = real_desk.telemetry("feedback")
    assert feedback["outcome"] == "accepted"
    answers = {(record["run"], record["client"], record["request"]): record for record in real_desk.telemetry("answer")}
    taken = answers[feedback["run"], feedback["client"], feedback["request"]]
    assert taken["shown_characters"] == len(shown.ghost.text)
    assert taken["language"] == "python"


@pytest.mark.starter
def test_typing_on_while_requests_are_pending_leaves_only_ghost_text_that_fits(real_desk: Desk) -> None:
    # prompts of many tokens: evaluating one takes longer than Neovim waits between keys
    real_desk.write("CONFIG_HOME/draftline/config.toml", "context_tokens = 1500\nprompt_tokens = 1000\n")
    long = "".join(f"def function_{n}(left, right):\n    return left + {n} * right\n\n\n" for n in range(60))
    file, second = real_desk.write("first.py", ARITHMETIC), real_desk.write("second.py", long)

    report = real_desk.play(
        file,
        {"keys": "Goreturn "},
        {"await": "ghost"},  # the decoder runs from here on
        {"keys": f"<Esc>:w<CR>:e {second}<CR>Go"},
        {"await": "request"},
        {"keys": "def f(left, right):<CR>return ", "pace_ms": 280},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "accepted"},
        {"await": "quiet"},
    )

    assert all(request.answered_ms is not None for request in report.requests), "a request was never answered"
    overtaken = report.overtaken
    assert overtaken, "no request was pending while the next was sent"
    assert all(request.answer in ("null", "empty") for request in overtaken)
    shown, accepted = report.snapshots["shown"], report.snapshots["accepted"]
    latest = [request for request in report.completions if request.sent_ms <= shown.at_ms][-1]
    assert (latest.line, latest.character) == (shown.lines[shown.row], shown.column)
    assert latest.answer == "items"
    assert accepted.text == shown.text_with_ghost


async def test_ghost_text_that_no_longer_fits_goes_away_even_when_nothing_takes_its_place(
    desk: Desk, decoder: ScriptedDecoder
) -> None:
    """Neovim keeps the old ghost text at an answer of `null`; only an empty list takes it away."""
    decoder.reply = author("x = left\n")

    report = await play(
        desk,
        "x =\n",
        {"keys": "A"},
        {"await": "ghost"},
        {"keys": "¤"},
        {"await": "quiet"},
        {"snapshot": "nothing to offer"},
    )

    assert report.snapshots["nothing to offer"].text == "x =¤"
    assert report.snapshots["nothing to offer"].ghost is None


async def test_accepting_behind_emoji_and_chinese_inserts_at_the_cursor(desk: Desk, decoder: ScriptedDecoder) -> None:
    decoder.reply = author('print("🎉 你好 👩‍🚀", words[0], faces)\n')

    report = await play(
        desk,
        "\n",
        {"keys": 'Aprint("🎉 你好 👩‍🚀", words[0],'},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "accepted"},
    )

    assert report.encoding == "utf-8"
    assert report.snapshots["accepted"].text == report.snapshots["shown"].text_with_ghost
    assert report.snapshots["accepted"].text == 'print("🎉 你好 👩‍🚀", words[0], faces)'


async def test_a_file_with_crlf_gets_no_stray_carriage_returns(desk: Desk, decoder: ScriptedDecoder) -> None:
    whole = "if left:\n    return right\n"
    decoder.reply = author(whole)

    report = await play(
        desk,
        "if left\r\n",
        {"keys": "A"},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "accepted"},
        {"await": "quiet"},
        {"keys": "<Esc>:w<CR>"},
    )

    assert report.snapshots["accepted"].text == report.snapshots["shown"].text_with_ghost
    assert (desk.folder / "a.py").read_bytes() == whole.replace("\n", "\r\n").encode()


def test_tab_takes_ghost_text_and_is_the_usual_tab_without_any(scripted_desk: Desk) -> None:
    report = scripted_desk.play(
        scripted_desk.write("add.py", "def add(left, right):\n    pass\n"),
        {"keys": "Goreturn "},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "accepted"},
        {"keys": "<CR>x<Tab>y"},
        {"await": "quiet"},
        {"snapshot": "no ghost"},
    )

    assert report.snapshots["accepted"].text == report.snapshots["shown"].text_with_ghost
    assert report.snapshots["accepted"].lines[-1].endswith("return left + right")
    assert re.fullmatch(r"\s*x\s+y", report.snapshots["no ghost"].lines[-1])


@pytest.mark.parametrize(
    ("typed", "line"),
    [pytest.param("le", "return left + right", id="along"), pytest.param("lx", "return lx", id="something else")],
)
def test_tab_right_after_typing_inserts_nothing_twice(scripted_desk: Desk, typed: str, line: str) -> None:
    """Neovim 0.12.4 by itself makes `return left + rightle` of it."""
    report = scripted_desk.play(
        scripted_desk.write("add.py", "def add(left, right):\n    pass\n"),
        {"keys": "Goreturn "},
        {"await": "ghost"},
        {"keys": f"{typed}<Tab>"},
        {"await": "quiet"},
        {"snapshot": "after"},
    )

    assert report.snapshots["after"].lines[-1].strip() == line


def test_ghost_text_can_be_turned_off_and_on(scripted_desk: Desk) -> None:
    report = scripted_desk.play(
        scripted_desk.write("add.py", "def add(left, right):\n    pass\n"),
        {"keys": "\\gtGoreturn "},
        {"pause_ms": 500},
        {"snapshot": "off"},
        {"keys": "<Esc>\\gta"},
        {"await": "ghost"},
        {"snapshot": "on"},
    )

    assert report.snapshots["off"].ghost is None
    assert report.snapshots["on"].ghost is not None
