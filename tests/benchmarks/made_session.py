"""Made-up sessions, and a server whose suggestions are known."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.typing.replay import Asked, Kind, Log
from benchmarks.typing.trace import Trace, read_trace

URI = "file:///shapes.py"
TEXT = "import math\n\narea = \nprint(area)\n"


def trace_of(typed: str, *, gap: float = 0.01, middle: str | None = None) -> Trace:
    """A session behind `area = `; `<` stands for a deletion."""
    written, events, version = "", [], 1
    for number, sign in enumerate(typed):
        version += 1
        at = 7 + len(written)
        begin = at - 1 if sign == "<" else at
        written = written[:-1] if sign == "<" else written + sign
        change = {
            "range": {"start": {"line": 2, "character": begin}, "end": {"line": 2, "character": at}},
            "text": "" if sign == "<" else sign,
        }
        params = {"textDocument": {"uri": URI, "version": version}, "contentChanges": [change]}
        cursor = {"line": 2, "character": 7 + len(written)}
        t = 1000 * gap * (number + 1)
        events.append({"t": t, "method": "textDocument/didChange", "params": params, "key": sign, "cursor": cursor})
    item = {"uri": URI, "languageId": "python", "version": 1, "text": TEXT}
    opening = {"t": 0, "method": "textDocument/didOpen", "params": {"textDocument": item}}
    return read_trace(
        {
            "session": "s",
            "lang": "python",
            "target": URI,
            "start": {"line": 2, "character": 7},
            "middle": written if middle is None else middle,
            "events": [opening, *events],
        }
    )


def log_of(trace: Trace, *asked: Asked) -> Log:
    """The keys went out when they were due."""
    return Log(tuple(key.at for key in trace.keys), asked)


def reply(
    key: int, at: float, full: str = "", *, kind: Kind | None = None, answer: int = 1, asked: float = 0.0
) -> Asked:
    return Asked(key, asked, False, kind or ("item" if full else "empty"), at, full, answer)


class ScriptedServer:
    """Offers what `rest` says of the characters typed so far, `delay` seconds after it was asked."""

    def __init__(self, rest: Callable[[str], str], delay: float = 0.0) -> None:
        self.said: list[tuple[str, Any]] = []
        self._rest, self._delay = rest, delay
        self._typed = ""
        self._ids = itertools.count(1)
        self._asked: dict[int, tuple[str, Mapping[str, int]]] = {}

    def methods(self) -> Counter[str]:
        return Counter(method for method, _ in self.said)

    def notify(self, method: str, params: Any) -> None:
        self.said.append((method, params))
        if method == "textDocument/didChange":
            text = params["contentChanges"][0]["text"]
            self._typed = self._typed + text if text else self._typed[:-1]

    def request(self, method: str, params: Any) -> int:
        self.said.append((method, params))
        id = next(self._ids)
        self._asked[id] = (self._typed, params.get("position", {}))
        return id

    async def reply(self, id: int) -> tuple[float, Mapping[str, Any]]:
        await asyncio.sleep(self._delay)
        typed, position = self._asked[id]
        items = [item(self._rest(typed), position, answer=id)] if self._rest(typed) else []
        return asyncio.get_running_loop().time(), {"id": id, "result": {"items": items}}


def item(text: str, position: Mapping[str, int], *, answer: int = 1) -> dict[str, Any]:
    return {
        "insertText": text,
        "range": {"start": position, "end": position},
        "command": {"title": "Accepted", "command": "accepted", "arguments": [answer]},
    }
