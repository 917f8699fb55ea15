"""The loop the server runs on."""

import asyncio

import pytest

from lsp_server import serve

pytest.importorskip("uvloop", reason="uvloop does not exist on this platform")


def test_the_server_runs_on_uvloop_where_there_is_one() -> None:
    async def is_asyncio() -> int:
        return 0 if type(asyncio.get_running_loop()).__module__.startswith("uvloop") else 1

    assert serve._run(is_asyncio()) == 0
