"""How soon the next suggestion is there after an accept: `python -m benchmarks.typing.after_accept`, some minutes.

At places of the recorded sessions, an editor asks, its person reads, accepts all, and the editor asks at once again,
up to `ACCEPTS` times. What the decoder wrote meanwhile, as if accepted, costs no step then: those replies have a bar.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles
from typing import Any

from rich.console import Console

from benchmarks.typing.cores import waited
from benchmarks.typing.desk import Desk, own_desk
from benchmarks.typing.editor import EditorError
from benchmarks.typing.policy import POLICIES
from benchmarks.typing.replay import AUTOMATIC, Server
from benchmarks.typing.replay import accepted as text_after
from benchmarks.typing.trace import TRACES, Trace, load_traces, spread, utf16_units
from decoder.models.catalog import STARTER
from decoder.models.store import ModelStore, ModelStoreError
from decoder.stats.answer_log import AnswerLog

ACCEPTS = 3
READING_SECONDS = 2.0
BAR_MS = 10.0


@dataclass(frozen=True, slots=True)
class Follow:
    """The reply after an accept. answer: the id of what was offered, None where nothing was.

    waited: milliseconds that threads of the three processes waited for a core meanwhile, all added up.
    """

    milliseconds: float
    answer: int | None
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """ready: replies whose text took no step any more. slow: the others that offered something."""

    ready: tuple[Follow, ...]
    slow: tuple[Follow, ...]
    empty: int

    @property
    def holds(self) -> bool:
        """Whether what was ready was there in time, 95 times in 100; where nothing ever was, the bar is missed."""
        return bool(self.ready) and _p95(self.ready) <= BAR_MS

    def words(self) -> str:
        """The verdict for people."""
        offered = len(self.ready) + len(self.slow)
        lines = [f"{offered + self.empty} accepts; {offered} were followed by a suggestion"]
        for what, follows in (("in the continuation", self.ready), ("not in it", self.slow)):
            lines.append(f"{len(follows)} {what}{_figures(follows)}")
        lines.append(f"the bar of p95 <= {BAR_MS:.0f} ms in the continuation {'holds' if self.holds else 'is missed'}")
        return "\n".join(lines)


def judge(follows: Sequence[Follow], steps: dict[int, int]) -> Verdict:
    """steps: of the decoder's answers, by id; an answer that its log does not know was the server's own."""
    offered = [(follow, steps.get(follow.answer, 0)) for follow in follows if follow.answer is not None]
    return Verdict(
        tuple(follow for follow, taken in offered if not taken),
        tuple(follow for follow, taken in offered if taken),
        empty=len(follows) - len(offered),
    )


def _p95(follows: Sequence[Follow]) -> float:
    times = [each.milliseconds for each in follows]
    return quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]


def _figures(follows: Sequence[Follow]) -> str:
    if not follows:
        return ""
    times = [each.milliseconds for each in follows]
    waiting = median(each.waited for each in follows)
    return (
        f": median {median(times):.1f}, p95 {_p95(follows):.1f}, at most {max(times):.1f} ms"
        f" (threads waited {waiting:.1f} ms for a core, median)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--places", type=int, default=12, help="sessions in which suggestions are accepted")
    places = parser.parse_args(arguments).places
    console = Console(width=120)
    try:
        ModelStore().path(STARTER)
        traces = spread(load_traces(), places)
    except (ModelStoreError, FileNotFoundError) as error:
        console.print(f"skipped: {error if isinstance(error, ModelStoreError) else f'there is no {TRACES}'}")
        return 0
    with own_desk() as desk:
        try:
            verdict = asyncio.run(_measure(desk, traces))
        except EditorError as error:
            console.print(f"the server cannot be measured: {error}")
            return 1
    console.print(verdict.words())
    return int(not verdict.holds)


async def _measure(desk: Desk, traces: Sequence[Trace]) -> Verdict:
    ready: list[Follow] = []
    slow: list[Follow] = []
    empty = 0
    for trace in traces:
        editor = await desk.editor(POLICIES["vscode"].client)
        began = time.time()
        core_wait = partial(waited, (editor.server, desk.decoder, os.getpid()))
        follows = await follow_accepts(editor, trace, core_wait=core_wait)
        await editor.leave()
        steps = {each["request"]: each["speculation"]["steps"] for each in AnswerLog(desk.state).answers(since=began)}
        verdict = judge(follows, steps)
        ready += verdict.ready
        slow += verdict.slow
        empty += verdict.empty
    return Verdict(tuple(ready), tuple(slow), empty)


async def follow_accepts(
    editor: Server,
    trace: Trace,
    reading: float = READING_SECONDS,
    *,
    core_wait: Callable[[], float] = lambda: 0.0,
) -> list[Follow]:
    """Accepts what is offered where the session begins, and then what is offered after that."""
    for opening in trace.openings:
        editor.notify("textDocument/didOpen", opening.params)
    key, now = trace.keys[0], asyncio.get_running_loop().time
    editor.notify("textDocument/didChange", key.params)
    written, first_line = key.written, key.line - key.written.count("\n")
    _, item = await _ask(editor, trace.uri, _cursor(written, first_line))
    follows: list[Follow] = []
    while item is not None and len(follows) < ACCEPTS:
        await asyncio.sleep(reading)
        written = _accept(editor, trace.uri, key.version + 1 + len(follows), item, written)
        waited_before, began = core_wait(), now()
        replied_at, item = await _ask(editor, trace.uri, _cursor(written, first_line))
        answer = None if item is None else item["command"]["arguments"][0]
        follows.append(Follow(1000 * (replied_at - began), answer, 1000 * (core_wait() - waited_before)))
    return follows


def _accept(editor: Server, uri: str, version: int, item: Mapping[str, Any], written: str) -> str:
    """What stands before the cursor then."""
    change = {"range": item["range"], "text": item["insertText"]}
    document = {"uri": uri, "version": version}
    editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    command = item["command"]
    editor.request("workspace/executeCommand", {"command": command["command"], "arguments": command["arguments"]})
    return text_after(written, utf16_units(written.rpartition("\n")[2]), item)


async def _ask(editor: Server, uri: str, cursor: dict[str, int]) -> tuple[float, Mapping[str, Any] | None]:
    params = {"textDocument": {"uri": uri}, "position": cursor, "context": {"triggerKind": AUTOMATIC}}
    replied_at, message = await editor.reply(editor.request("textDocument/inlineCompletion", params))
    items = (message.get("result") or {"items": []})["items"]
    return replied_at, items[0] if items else None


def _cursor(written: str, first_line: int) -> dict[str, int]:
    return {
        "line": first_line + written.count("\n"),
        "character": utf16_units(written.rpartition("\n")[2]),
    }


if __name__ == "__main__":
    sys.exit(main())
