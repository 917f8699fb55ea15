"""The peers' figures, beside those of our own modes on the same tasks."""

import os
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from decoder.bench.peers.cold_prompt import verdict
from decoder.bench.peers.field import Entrant, Field, PeerOutcome
from decoder.bench.peers.names import PeerName
from decoder.bench.peers.ratio import ratio

_RECORDED = ("GLIBC_TUNABLES", "THP_MEM_ALLOC_ENABLE", "OMP_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class OwnPace:
    """One task in one of our modes, the prompt cached."""

    mode: str
    task_id: str
    seconds_per_token: float


def peers_report(field: Field, own: Sequence[OwnPace], *, looping: Collection[str] = ()) -> dict[str, Any]:
    """The objects `peers`, `peer_ratios` and `peer_settings` of `bench --json`.

    looping: ids of the tasks whose text repeats itself, which are left out of the second figures.
    peer_ratios: how many times as fast as the peer our mode is, as the median over tasks (side by side in time), and
    in total; best_peer: against whichever peer takes the least time on the median task.
    """
    steady = [each for each in field.outcomes if each.task_id not in looping]
    peers = {
        str(peer): _column(entrant, field.outcomes, steady, field.max_tokens)
        for peer, entrant in field.entrants.items()
    }
    return {
        "peers": peers,
        "peer_ratios": {"all": _ratios(field.outcomes, own), "without_looping": _ratios(steady, own)},
        "peer_settings": {
            "threads": field.settings.threads,
            "environment": {name: field.environment.get(name) for name in _RECORDED},
            "own_environment": {name: os.environ.get(name) for name in _RECORDED},
            "transparent_hugepage": _transparent_hugepage(),
        },
    }


def peers_table(result: dict[str, Any]) -> Table:
    """For a person, 80 columns wide: our fastest mode, then every peer with its figures and ours against them.

    as plain: texts that are those of the same engine and weights without drafts.
    """
    modes, cold = result["modes"], result["cold_prompt"]
    fastest = min(modes, key=lambda mode: float(modes[mode]["ms_per_task"]))
    ratios = result["peer_ratios"]["all"].get(fastest, {})
    shown = Table(box=None, padding=(0, 1), pad_edge=False, collapse_padding=True)
    shown.caption, shown.caption_justify = verdict(cold), "left"
    shown.add_column("peer", no_wrap=True)
    for name in ("tok/s", "ms/task", f"{fastest} is", "prefill ms", "ours is", "as plain"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_row(f"ours, {fastest}", *_times(modes[fastest]), "", f"{cold['prefill_ms']:.0f}")
    for peer, column in result["peers"].items():
        if not column["tasks"]:
            continue
        same = column["identity"]
        shown.add_row(
            peer,
            *_times(column),
            _times_as_fast(ratios.get(peer)),
            f"{column['prefill_ms']:.0f}",
            _times_as_fast(cold["ratios"].get(peer)),
            f"{same['identical']} of {same['compared']}" if same["compared"] else "",
        )
    return shown


def absences(result: dict[str, Any]) -> list[str]:
    """One line for each peer that is absent or stopped, and why."""
    return [f"{peer}: {column['reason']}" for peer, column in result["peers"].items() if column["reason"]]


def _times(figures: dict[str, Any]) -> tuple[str, str]:
    return f"{figures['tokens_per_s']:.1f}", f"{figures['ms_per_task']:.0f}"


def _times_as_fast(found: dict[str, float] | None) -> str:
    return f"{found['median']:.2f}x" if found else ""


def _column(
    entrant: Entrant, outcomes: Sequence[PeerOutcome], steady: Sequence[PeerOutcome], max_tokens: int
) -> dict[str, Any]:
    figures = _figures([each for each in outcomes if each.peer == entrant.peer], max_tokens)
    return {
        "reason": entrant.reason,
        "versions": entrant.versions,
        "load_seconds": round(entrant.load_seconds, 2),
        "tasks": 0,
        **figures,
        "identity": _identity(entrant.peer, outcomes),
        "without_looping": _figures([each for each in steady if each.peer == entrant.peer], max_tokens),
    }


def _figures(outcomes: Sequence[PeerOutcome], max_tokens: int) -> dict[str, float]:
    """Medians over tasks; times are those of `max_tokens` tokens, whenever a text ended."""
    paces = [each.seconds_per_token for each in outcomes if each.seconds_per_token is not None]
    if not paces:
        return {}
    return {
        "tasks": len(paces),
        "tokens_per_s": round(statistics.median(1 / pace for pace in paces), 2),
        "ms_per_task": round(1000 * max_tokens * statistics.median(paces), 1),
        "prefill_ms": round(1000 * statistics.median(each.prefill_seconds for each in outcomes), 1),
        "total_seconds": round(max_tokens * sum(paces), 2),
    }


def _identity(peer: PeerName, outcomes: Sequence[PeerOutcome]) -> dict[str, int]:
    """How many of its texts are those that the same engine and weights write without drafts."""
    plain = {each.task_id: each.tokens for each in outcomes if each.peer == peer.plain and peer != peer.plain}
    pairs = [(each.tokens, plain[each.task_id]) for each in outcomes if each.peer == peer and each.task_id in plain]
    return {"identical": sum(text == expected for text, expected in pairs), "compared": len(pairs)}


def _ratios(outcomes: Sequence[PeerOutcome], own: Sequence[OwnPace]) -> dict[str, dict[str, dict[str, float]]]:
    ours: dict[str, dict[str, float]] = {}
    for each in own:
        ours.setdefault(each.mode, {})[each.task_id] = each.seconds_per_token
    theirs: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        if outcome.seconds_per_token is not None:
            theirs.setdefault(str(outcome.peer), {})[outcome.task_id] = outcome.seconds_per_token
    ratios = {mode: {peer: ratio(paces, mine) for peer, paces in theirs.items()} for mode, mine in ours.items()}
    if theirs:
        best = min(theirs, key=lambda peer: statistics.median(theirs[peer].values()))
        for of_mode in ratios.values():
            of_mode["best_peer"] = of_mode[best]
    return ratios


def _transparent_hugepage() -> str:
    """The system's choice: always, madvise or never; "" where there is none."""
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return ""
    return text.partition("[")[2].partition("]")[0]
