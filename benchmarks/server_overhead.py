"""What the language server adds to a completion: `python -m benchmarks.server_overhead`, half a minute, no model.

A real `draftline serve` over pipes, with a long document and many open buffers, before a decoder that answers at once.
"""

import asyncio
import os
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import quantiles
from typing import Any

import msgpack

from benchmarks.typing.cores import waited
from benchmarks.typing.desk import own_desk
from benchmarks.typing.editor import Editor
from benchmarks.typing.replay import AUTOMATIC, Server
from decoder import version
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.frames import encode_reply
from decoder.wire.messages import Answer, Status, Welcome

NUM_LINES = 10_000
NUM_BUFFERS = 50
BUFFER_LINES = 500
LINE = "    value = measure(first, second, third)  # number {}\n"
TYPED = "result = combine(left, right, middle, others)"
KEYS_A_LINE = 40
NUM_KEYS = 440
KEY_SECONDS = 0.02
URI = "file:///workspace/long.py"

OVERHEAD_MS = 3.0
ALONG_MS = 5.0


@dataclass(frozen=True, slots=True)
class Reply:
    """One request: its milliseconds without the decoder's, those of them in which the server or this benchmark waited
    for a core, and whether the decoder was asked."""

    milliseconds: float
    waited: float
    by_decoder: bool


class InstantDecoder:
    """Listens at an endpoint and answers with `text` as soon as a request is there.

    busy: seconds that each request spent here, from its last byte to the answer; cleared by whoever reads it.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        private_directory(endpoint.directory)
        self.text = ""
        self.busy: list[float] = []
        self._endpoint = endpoint
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "InstantDecoder":
        self._server = await asyncio.start_unix_server(self._converse, self._endpoint.socket_path)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        now = asyncio.get_running_loop().time
        while head := await reader.read(4):
            (length,) = struct.unpack(">I", head)
            body = await reader.readexactly(length)
            began = now()
            message = msgpack.unpackb(body)
            if message["type"] == "Hello":
                writer.write(encode_reply(Welcome(version(), pid=1, busy=False)))
                writer.write(encode_reply(Status("ready", "ready at once", model="none")))
            elif message["type"] == "Complete" and message.get("trigger") != "warm_up":
                writer.write(encode_reply(Answer(message["id"], self.text, finish="stop")))
                self.busy.append(now() - began)
        writer.close()


async def measure(
    server: Server,
    decoder: InstantDecoder,
    num_keys: int = NUM_KEYS,
    *,
    along: bool,
    waited: Callable[[], float] = lambda: 0.0,
) -> list[Reply]:
    """Types lines into the open document `URI`, and asks at each key.

    along: what is typed is what the decoder answered, else none of it ever is. waited: for a core, in seconds so far.
    """
    now = asyncio.get_running_loop().time
    replies: list[Reply] = []
    line, version = NUM_LINES // 2, 1
    for number in range(num_keys):
        column = number % KEYS_A_LINE
        if column == 0:
            line, version = line + 1, version + 1
            server.notify("textDocument/didChange", _insertion(version, line, 0, "\n"))
        decoder.text = TYPED[column + 1 :] if along else "§ never typed"
        decoder.busy.clear()
        version += 1
        server.notify("textDocument/didChange", _insertion(version, line, column, TYPED[column]))
        waited_before, began = waited(), now()
        replied_at, reply = await server.reply(
            server.request("textDocument/inlineCompletion", _place(line, column + 1))
        )
        assert reply["result"]["items"], "the answer did not arrive"
        took = replied_at - began - sum(decoder.busy)
        replies.append(Reply(1000 * took, 1000 * (waited() - waited_before), by_decoder=bool(decoder.busy)))
        await asyncio.sleep(KEY_SECONDS)
    return replies


def verdict(what: str, replies: Sequence[Reply], bar: float) -> tuple[bool, str]:
    """Whether the 99th percentile is within the bar, which is missed where there are no replies; and that in words."""
    if len(replies) < 2:
        return False, f"{what:13} never happened: the bar is missed"
    found, running = (
        quantiles(figures, n=100, method="inclusive")
        for figures in ([each.milliseconds for each in replies], [each.milliseconds - each.waited for each in replies])
    )
    holds = found[98] <= bar
    figures = "  ".join(f"p{percent} {found[percent - 1]:.2f}" for percent in (50, 95, 99))
    idle = f"p50 {running[49]:.2f}  p99 {running[98]:.2f} without waiting for a core"
    told = f"the bar of p99 <= {bar} ms {'holds' if holds else 'is missed'}"
    return holds, f"{what:13} {figures} ms ({idle}; {len(replies)} replies): {told}"


def main() -> int:
    """Exit code 1 where a bar is missed."""
    overhead, along = asyncio.run(_run())
    asked = [each for each in overhead if each.by_decoder]
    unasked = [each for each in along if not each.by_decoder]
    print(f"{NUM_LINES:,} lines, {NUM_BUFFERS} open buffers, {NUM_KEYS} keys each")
    verdicts = [verdict("overhead", asked, OVERHEAD_MS), verdict("typed along", unasked, ALONG_MS)]
    for _, words in verdicts:
        print(words)
    needed, num_asked = NUM_KEYS // KEYS_A_LINE, len(along) - len(unasked)
    print(f"typed along, the decoder was asked {num_asked} times, where once a line, {needed} times, is enough")
    return int(not all(holds for holds, _ in verdicts) or num_asked > needed)


async def _run() -> tuple[list[Reply], list[Reply]]:
    with own_desk() as desk:
        async with InstantDecoder(desk.endpoint) as decoder:
            editor = await Editor.start(
                desk.serve, desk.environment, client="Visual Studio Code", options={"debounceMs": 0}
            )
            await editor.until_ready()
            _open(editor, URI, NUM_LINES)
            for number in range(NUM_BUFFERS):
                _open(editor, f"file:///workspace/buffer{number}.py", BUFFER_LINES)
            core_wait = partial(waited, (editor.server, os.getpid()))
            overhead = await measure(editor, decoder, along=False, waited=core_wait)
            _open(editor, URI, NUM_LINES)
            along = await measure(editor, decoder, along=True, waited=core_wait)
            await editor.leave()
    return overhead, along


def _open(server: Server, uri: str, num_lines: int) -> None:
    text = "".join(LINE.format(number) for number in range(num_lines))
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": item})


def _insertion(version: int, line: int, character: int, text: str) -> dict[str, Any]:
    position = {"line": line, "character": character}
    change = {"range": {"start": position, "end": position}, "text": text}
    return {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]}


def _place(line: int, character: int) -> dict[str, Any]:
    return {
        "textDocument": {"uri": URI},
        "position": {"line": line, "character": character},
        "context": {"triggerKind": AUTOMATIC},
    }


if __name__ == "__main__":
    sys.exit(main())
