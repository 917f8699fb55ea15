"""Plays beside a decoder that runs in the test itself."""

import asyncio

from tests.journeys.neovim.desk import Desk, Step
from tests.journeys.neovim.report import Report


async def play(desk: Desk, text: str, *steps: Step, name: str = "a.py") -> Report:
    """Goes through the steps in a file that begins as `text`."""
    return await asyncio.to_thread(desk.play, desk.write(name, text), *steps)
