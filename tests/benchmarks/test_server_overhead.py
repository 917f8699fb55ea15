"""The server-overhead benchmark, with few keys; `python -m benchmarks.server_overhead` runs all of it."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from benchmarks.server_overhead import OVERHEAD_MS, URI, InstantDecoder, Reply, measure, verdict
from benchmarks.typing.desk import SERVE, WITHOUT_GHOST, Desk, own_desk
from benchmarks.typing.editor import Editor


@pytest.fixture
def desk() -> Iterator[Desk]:
    with own_desk() as desk:
        yield desk


class SlowServer:
    """Takes `seconds` for every request, and has an item for each."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def notify(self, method: str, params: Any) -> None:
        pass

    def request(self, method: str, params: Any) -> int:
        assert (method, params["textDocument"]["uri"]) == ("textDocument/inlineCompletion", URI)
        return 1

    async def reply(self, id: int) -> tuple[float, Mapping[str, Any]]:
        await asyncio.sleep(self._seconds)
        return asyncio.get_running_loop().time(), {"id": id, "result": {"items": [{}]}}


async def test_a_slow_server_misses_the_bar(desk: Desk) -> None:
    replies = await measure(SlowServer(0.02), InstantDecoder(desk.endpoint), 3, along=True)
    holds, words = verdict("typed along", replies, OVERHEAD_MS)
    assert not holds
    assert "missed" in words


def replies_of(*milliseconds: float, waited: float = 0.0) -> list[Reply]:
    return [Reply(each, waited, by_decoder=True) for each in milliseconds]


def test_one_late_reply_in_a_hundred_is_within_the_bar_and_two_are_not() -> None:
    assert verdict("overhead", replies_of(*[0.5] * 98, 20.0, 20.0), 3.0)[0] is False
    assert verdict("overhead", replies_of(*[0.5] * 199, 20.0), 3.0)[0] is True


def test_waiting_for_a_core_is_told_but_no_excuse() -> None:
    holds, words = verdict("overhead", replies_of(5.0, 5.0, waited=4.5), 3.0)
    assert not holds
    assert "p99 0.50 without waiting for a core" in words


def test_what_never_happened_misses_the_bar() -> None:
    assert verdict("typed along", [], 5.0) == (False, "typed along   never happened: the bar is missed")


async def replies_to_five_keys(desk: Desk, *, along: bool) -> list[Reply]:
    """Five keys to a real server."""
    async with InstantDecoder(desk.endpoint) as decoder:
        options = {"debounceMs": 0}
        editor = await Editor.start(desk.serve, desk.environment, client="Visual Studio Code", options=options)
        await editor.until_ready()
        document = {"uri": URI, "languageId": "python", "version": 1, "text": "import math\n"}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        replies = await measure(editor, decoder, 5, along=along)
        await editor.leave()
    return replies


async def test_a_real_server_asks_the_decoder_for_what_is_not_typed_along(desk: Desk) -> None:
    replies = await replies_to_five_keys(desk, along=False)
    assert [each.by_decoder for each in replies] == [True] * 5
    assert all(0.0 < each.milliseconds < 1000.0 for each in replies)


async def test_typing_along_asks_once_a_line_but_without_ghost_at_each_key() -> None:
    for serve, num_asked in ((SERVE, 1), (WITHOUT_GHOST, 5)):
        with own_desk(serve) as desk:
            replies = await replies_to_five_keys(desk, along=True)
        assert [each.by_decoder for each in replies] == [True] * num_asked + [False] * (5 - num_asked)
