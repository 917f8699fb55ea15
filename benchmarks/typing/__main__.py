"""Recorded keystrokes through the real server, under the policies of two editors, in real time.

Each session has an editor window (a `draftline serve` process) of its own; they share one decoder with the starter
model, whose directories are the benchmark's. What each figure counts: `figures.py`.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.typing.desk import SERVE, WITHOUT_GHOST, Desk, own_desk
from benchmarks.typing.editor import EditorError
from benchmarks.typing.figures import decoded, seen, traffic
from benchmarks.typing.identity import FIRST_ID, Examiner, Identity
from benchmarks.typing.policy import POLICIES, Policy
from benchmarks.typing.replay import Log, replay
from benchmarks.typing.report import Session, as_json, table, words
from benchmarks.typing.screen import watch
from benchmarks.typing.trace import TRACES, Trace, load_traces, spread
from decoder.models.catalog import STARTER
from decoder.models.store import ModelStore, ModelStoreError
from decoder.stats.answer_log import AnswerLog


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 where a text with drafts differs from the one without, or a request was never answered."""
    options = _parser().parse_args(arguments)
    console = Console(width=200)
    if (missing := _missing()) is not None:
        console.print(f"skipped: {missing}")
        return 0
    traces = [trace.first(options.keys) for trace in spread(load_traces(), options.sessions)]
    with own_desk(WITHOUT_GHOST if "ghost" in options.without else SERVE) as desk:
        if "prefetch" in options.without:
            desk.configure("background_tokens = 0\n")
        try:
            sessions = asyncio.run(_measure(desk, traces, options.policy, console))
        except EditorError as error:
            console.print(f"the server cannot be measured: {error}")
            return 1
    for policy in options.policy:
        console.print(table(sessions, policy.name), words(sessions, policy.name), "", sep="\n")
    if options.json:
        settings = _settings(options)
        options.json.write_text(json.dumps(as_json(sessions, settings), indent=1), encoding="utf-8")
    return int(any(each.identity.differing or each.traffic.unanswered for each in sessions))


async def _measure(desk: Desk, traces: Sequence[Trace], policies: Sequence[Policy], console: Console) -> list[Session]:
    """Sessions one after the other: two at a time would measure each other."""
    sessions = []
    for policy in policies:
        for trace in traces:
            console.print(f"{policy.name} {trace.name} {trace.language}", style="dim")
            sessions.append(await _session(desk, trace, policy))
    return sessions


async def _session(desk: Desk, trace: Trace, policy: Policy) -> Session:
    editor = await desk.editor(policy.client)
    began, cpu = time.time(), desk.decoder_cpu()
    log = await replay(trace, policy, editor)
    await editor.leave()
    cpu = desk.decoder_cpu() - cpu
    identity = await _examined(desk, trace, log)
    screen = watch(trace, log, policy)
    logged = [each for each in AnswerLog(desk.state).answers(since=began) if each["request"] < FIRST_ID]
    return Session(
        trace.name,
        trace.language,
        policy.name,
        seen(trace, log, screen),
        traffic(log, logged),
        decoded(logged, list(AnswerLog(desk.state).unanswered(since=began)), screen.answers(), cpu),
        identity,
    )


async def _examined(desk: Desk, trace: Trace, log: Log) -> Identity:
    examiner = await Examiner.meet(desk.endpoint)
    try:
        return await examiner.examine(trace, log)
    finally:
        await examiner.leave()


def _missing() -> str | None:
    if not TRACES.is_file():
        return f"there are no keystroke sessions in {TRACES}"
    try:
        ModelStore().path(STARTER)
    except ModelStoreError as error:
        return str(error)
    return None


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "label": options.label,
        "date": time.strftime("%Y-%m-%d"),
        "without": options.without,
        "keys": options.keys,
        "cores": os.cpu_count(),
        "load": [round(each, 1) for each in os.getloadavg()],
    }


def _policies(text: str) -> list[Policy]:
    names = text.split(",")
    if not set(names) <= POLICIES.keys():
        raise ValueError(text)
    return [POLICIES[name] for name in names]


def _features(text: str) -> list[str]:
    names = text.split(",")
    if not set(names) <= {"ghost", "prefetch"}:
        raise ValueError(text)
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.typing", description=__doc__, allow_abbrev=False)
    parser.add_argument("--policy", type=_policies, default="vscode,neovim", help=", ".join(POLICIES))
    parser.add_argument("--sessions", type=int, default=6, help="how many of them, over all languages")
    parser.add_argument("--keys", type=int, default=80, help="only so many keys of each")
    parser.add_argument("--without", type=_features, default=[], help="what is switched off: ghost,prefetch")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--label", default="", help="of the figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
