"""The real decoder behind windows of Neovim: two of them at a time, and one whose decoder dies."""

import asyncio

import pytest

from tests.journeys.neovim.desk import PATIENT, Desk, Step
from tests.journeys.neovim.play import play

pytestmark = [pytest.mark.editor, pytest.mark.starter]

ADD = "def add(left, right):\n    return left + right\n\n\ndef subtract(left, right):\n"
KILL = '#!/bin/sh\nkill -9 "$(cat "$XDG_RUNTIME_DIR/draftline/decoder.pid")"\n'


async def test_two_windows_share_one_decoder(real_desk: Desk) -> None:
    real_desk.use_plugin(PATIENT)
    steps: list[Step] = [
        {"keys": "Goreturn "},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
    ]

    one, other = await asyncio.gather(
        *(play(real_desk, ADD, *steps, {"snapshot": "taken"}, name=name) for name in ("one.py", "other.py"))
    )

    for report in (one, other):
        assert report.snapshots["taken"].text == report.snapshots["shown"].text_with_ghost
    real_desk.stop_decoder()
    accepted = real_desk.telemetry("feedback")
    assert len(accepted) == 2
    assert len({record["run"] for record in accepted}) == 1, "there were two decoders"
    assert len({record["client"] for record in accepted}) == 2


async def test_a_decoder_that_is_killed_comes_back_with_the_next_keys(real_desk: Desk) -> None:
    real_desk.use_plugin(PATIENT)
    real_desk.write("bin/kill-decoder", KILL).chmod(0o755)

    report = await play(
        real_desk,
        ADD,
        {"keys": "Goreturn "},
        {"await": "ghost"},
        {"run": "kill-decoder"},
        {"keys": "<CR><CR># the end<CR>def multiply(left, right):<CR>return "},
        {"await": "ghost"},
        {"snapshot": "shown"},
        {"keys": "<Tab>"},
        {"await": "command"},
        {"snapshot": "taken"},
    )

    assert report.snapshots["taken"].text == report.snapshots["shown"].text_with_ghost
    real_desk.stop_decoder()
    assert len({record["run"] for record in real_desk.telemetry("answer")}) == 2
