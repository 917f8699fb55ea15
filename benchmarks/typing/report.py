"""The benchmark's tables and its JSON."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import quantiles
from typing import Any

from rich.table import Table

from benchmarks.typing.figures import Decoded, Seen, Traffic, total
from benchmarks.typing.identity import Identity


@dataclass(frozen=True, slots=True)
class Session:
    """One session under one policy."""

    name: str
    language: str
    policy: str
    seen: Seen
    traffic: Traffic
    decoded: Decoded
    identity: Identity


HEADS = (
    "session",
    "keys",
    "pauses",
    "<=150",
    "<=300",
    "requests",
    "cancelled",
    "items",
    "along",
    "quiet",
    "null",
    "decoder",
    "steps",
    "wasted",
    "cpu s",
    "acceptable",
    "whole",
    "p50 ms",
    "p95 ms",
)


def table(sessions: Sequence[Session], policy: str) -> Table:
    """One policy's sessions and their sum."""
    made = Table(*HEADS, title=policy, box=None)
    chosen = [each for each in sessions if each.policy == policy]
    for each in chosen:
        made.add_row(*_cells(f"{each.name} {each.language}", each.seen, each.traffic, each.decoded))
    made.add_section()
    seen, traffic, decoded = summed(chosen)
    made.add_row(*_cells("all", seen, traffic, decoded))
    return made


def summed(sessions: Sequence[Session]) -> tuple[Seen, Traffic, Decoded]:
    """The sums over sessions."""
    return (
        total([each.seen for each in sessions]),
        total([each.traffic for each in sessions]),
        total([each.decoded for each in sessions]),
    )


def words(sessions: Sequence[Session], policy: str) -> str:
    """What the table has no room for."""
    chosen = [each for each in sessions if each.policy == policy]
    _, traffic, decoded = summed(chosen)
    reasons = Counter(decoded.reasons)
    if (unasked := traffic.empty - sum(count for reason, count in reasons.items() if not is_overtaken(reason))) > 0:
        reasons["(by the server itself)"] = unasked
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    lines = [f"nothing offered: {listed or 'never'}"]
    lines.append(f"{decoded.ahead} steps were written ahead besides")
    identical, differing = (sum(getattr(each.identity, name) for each in chosen) for name in ("identical", "differing"))
    shown: Counter[str] = sum((Counter(each.identity.shown) for each in chosen), Counter())
    lines.append(f"drafted against undrafted: {identical} identical, {differing} differing")
    lines.append(
        "shown against undrafted: "
        + ", ".join(f"{shown[name]} {name}" for name in ("identical", "beginning", "other"))
        + " (beginning: the time was up; other: another window of the prompt)"
    )
    if traffic.unanswered:
        lines.append(f"{traffic.unanswered} requests were never answered: a fault")
    return "\n".join(lines)


def is_overtaken(reason: str) -> bool:
    """Whether nobody wanted the answer any more."""
    return reason in ("cancelled", "superseded", "client_gone", "stopping")


def as_json(sessions: Sequence[Session], settings: dict[str, Any]) -> dict[str, Any]:
    """All figures: per session, and in total by policy."""
    return {
        **settings,
        "total": {
            policy: _figures(*summed([each for each in sessions if each.policy == policy]))
            for policy in dict.fromkeys(each.policy for each in sessions)
        },
        "sessions": [
            {
                "session": each.name,
                "language": each.language,
                "policy": each.policy,
                **_figures(each.seen, each.traffic, each.decoded),
                "identity": _values(each.identity),
            }
            for each in sessions
        ],
    }


def _figures(seen: Seen, traffic: Traffic, decoded: Decoded) -> dict[str, Any]:
    counts = {name: value for name, value in _values(traffic).items() if name != "latencies"}
    p50, p95 = _percentiles(traffic.latencies)
    log = {f"decoder_{name}": value for name, value in _values(decoded).items()}
    return {**_values(seen), **counts, **log, "reply_ms_p50": p50, "reply_ms_p95": p95}


def _values(figures: Seen | Traffic | Decoded | Identity) -> dict[str, Any]:
    return {each.name: getattr(figures, each.name) for each in fields(figures)}


def _cells(name: str, seen: Seen, traffic: Traffic, decoded: Decoded) -> list[str]:
    p50, p95 = _percentiles(traffic.latencies)
    return [
        name,
        f"{seen.keys}",
        f"{seen.pauses}",
        _share(seen.within_150, seen.pauses),
        _share(seen.within_300, seen.pauses),
        f"{traffic.requests}",
        f"{traffic.cancelled}",
        f"{traffic.items}",
        f"{traffic.typed_along}",
        _share(traffic.empty, traffic.requests),
        f"{traffic.nulls}",
        f"{decoded.asked}",
        f"{decoded.steps}",
        f"{decoded.wasted}",
        f"{decoded.cpu:.1f}",
        f"{seen.acceptable} of {seen.written}",
        f"{seen.whole}",
        *("-" if each is None else f"{each:.0f}" for each in (p50, p95)),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def _percentiles(latencies: Sequence[float]) -> tuple[float | None, float | None]:
    """Median and 95th percentile; None where there are too few."""
    if len(latencies) < 2:
        return None, None
    found = quantiles(latencies, n=20, method="inclusive")
    return round(found[9], 1), round(found[18], 1)
