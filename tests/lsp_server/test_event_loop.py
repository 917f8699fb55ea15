"""The loop the server runs on, and how long it stands still."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from decoder.wire.messages import Complete
from lsp_server import serve
from tests.fakes import ScriptedDecoder
from tests.lsp_server.editor import Editor

BIG, LONG, SMALL = "untitled:big.py", "untitled:generated.js", "untitled:small.py"
MAX_STALL_MS = 50.0


def test_the_server_runs_on_uvloop_where_there_is_one() -> None:
    pytest.importorskip("uvloop", reason="uvloop does not exist on this platform")

    async def is_asyncio() -> int:
        return 0 if type(asyncio.get_running_loop()).__module__.startswith("uvloop") else 1

    assert serve._run(is_asyncio()) == 0


@asynccontextmanager
async def stalls() -> AsyncIterator[list[float]]:
    """What each round of the loop takes, in milliseconds of this thread's own time: other processes don't count."""
    rounds: list[float] = []

    async def watch() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            rounds.append((now - before) * 1e3)
            before = now

    watching = asyncio.get_running_loop().create_task(watch())
    yield rounds
    watching.cancel()


@pytest.mark.parametrize(("uri", "line", "character"), [(BIG, 20_000, 4), (LONG, 140_000, 500_000), (SMALL, 1, 4)])
async def test_typing_beside_and_in_big_files_never_holds_the_loop(
    editor: Editor, decoder: ScriptedDecoder, uri: str, line: int, character: int
) -> None:
    await editor.begin()
    await editor.until_ready()
    editor.open("y" * 78 + "\n" + "x = 1\n" * 40_000, uri=BIG)
    editor.open(("x" * 78 + "\n") * 140_000 + "y" * 1_000_000 + "\n", uri=LONG, language="javascript")
    editor.open("def f():\n    \n", uri=SMALL)
    editor.ask("opened", line, character, trigger=1, uri=uri)
    await editor.item("opened")
    async with stalls() as rounds:
        for number in range(20):
            editor.type(number + 2, line, character + number, "a", uri=uri)
            editor.ask(number, line, character + number + 1, trigger=1, uri=uri)
            await editor.item(number)
    assert max(rounds) < MAX_STALL_MS
    assert decoder.of(Complete)[-1].prefix.endswith("a" * 20)
