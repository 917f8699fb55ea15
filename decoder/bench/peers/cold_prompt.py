"""How long a prompt takes that nobody has seen: ours and the peers', task by task."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from decoder.bench.peers.field import PeerOutcome
from decoder.bench.peers.ratio import ratio

OURS = "ours"


@dataclass(frozen=True, slots=True)
class ColdPrompt:
    """One task's prompt by our own engine. seconds: from an empty cache to the first greedy token."""

    task_id: str
    num_tokens: int
    seconds: float


def cold_prompt_report(outcomes: Sequence[PeerOutcome], own: Sequence[ColdPrompt]) -> dict[str, Any]:
    """The object `cold_prompt` of `bench --json`.

    prefill_ms, prompt_tokens: medians of ours. by_task: milliseconds of ours and of every peer. ratios: how many times
    as fast as the peer we are. best_llama_cpp: the llama.cpp peer with the least median, "" where there is none.
    """
    ours = {each.task_id: each.seconds for each in own}
    theirs: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        theirs.setdefault(str(outcome.peer), {})[outcome.task_id] = outcome.prefill_seconds
    rivals = {str(each.peer) for each in outcomes if each.peer.engine == "llama.cpp"}
    times = {OURS: ours} | theirs
    return {
        "prefill_ms": round(1000 * statistics.median(ours.values()), 1),
        "prompt_tokens": statistics.median(each.num_tokens for each in own),
        "by_task": {
            task: {name: round(1000 * seconds[task], 1) for name, seconds in times.items() if task in seconds}
            for task in ours
        },
        "ratios": {peer: ratio(seconds, ours) for peer, seconds in theirs.items()},
        "best_llama_cpp": min(rivals, key=lambda peer: statistics.median(theirs[peer].values()), default=""),
    }


def verdict(report: dict[str, Any]) -> str:
    """One line: ours, and how it stands to llama.cpp's best."""
    ours = f"cold prompt of {report['prompt_tokens']:.0f} tokens: ours {report['prefill_ms']:.0f} ms"
    best = report["best_llama_cpp"]
    return f"{ours}, {report['ratios'][best]['median']:.2f}x as fast as {best}" if best else ours
