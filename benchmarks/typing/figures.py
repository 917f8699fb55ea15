"""What a session comes to, in counts that can be added up."""

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar

from benchmarks.typing.replay import Log
from benchmarks.typing.screen import Screen
from benchmarks.typing.trace import Trace

PAUSE_SECONDS = 0.150
WITHIN = (0.150, 0.300)

_T = TypeVar("_T", "Seen", "Traffic", "Decoded")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the person saw.

    pauses: of `PAUSE_SECONDS` and more between two keys. within_150, within_300: of those, how many had a suggestion
    on screen so many milliseconds after the key, or when the next key came, if that was sooner.
    written: characters of the text that was wanted, as far as the session goes. acceptable: those of them that a
    suggestion on screen at the end of a pause had right, as its beginning, before they were typed, each counted
    once however many suggestions had it. whole: those in suggestions that were right to their end.
    """

    keys: int
    pauses: int
    within_150: int
    within_300: int
    written: int
    acceptable: int
    whole: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """What went over the wire to the editor.

    cancelled: by the editor. items, empty: replies with and without something to show; null: what was asked no longer
    mattered; errors: those of cancelled requests among them. unanswered must be 0.
    typed_along: items of an answer that was given before, or that the decoder's log does not know: no new decoder call.
    latencies: milliseconds of replies with an item or an empty list.
    """

    requests: int
    cancelled: int
    items: int
    empty: int
    nulls: int
    errors: int
    unanswered: int
    typed_along: int
    latencies: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What the decoder's log says.

    asked: requests that reached it, warm-ups left out. steps: passes over drafts or single tokens for requests; wasted:
    those of answers that were never on screen, and of requests that were given up (whose text the next request may
    have gone on with). ahead: steps in the background besides. reasons: of answers with nothing to show.
    cpu: seconds of processor time that the decoder took meanwhile, which nothing escapes; 0 where it cannot be read.
    """

    asked: int
    steps: int
    wasted: int
    ahead: int
    cpu: float
    reasons: Counter[str] = field(default_factory=Counter)


def seen(trace: Trace, log: Log, screen: Screen) -> Seen:
    """Pauses are those of the recording; on screen counts what was there by the clock."""
    pauses = [
        (log.pressed[number], log.pressed[number + 1], trace.keys[number].written)
        for number, (key, following) in enumerate(pairwise(trace.keys))
        if following.at - key.at >= PAUSE_SECONDS
    ]
    counts = [sum(screen.at(_before(at + within, until)) is not None for at, until, _ in pauses) for within in WITHIN]
    acceptable: set[int] = set()
    whole: set[int] = set()
    for _, until, written in pauses:
        if (ghost := screen.at(_before(until, until))) is not None and trace.wanted.startswith(written):
            right = range(len(written), _num_common(ghost.full, trace.wanted))
            acceptable.update(right)
            if trace.wanted.startswith(ghost.full):
                whole.update(right)
    reached = _num_common(trace.keys[-1].written, trace.wanted) if trace.keys else len(trace.origin)
    return Seen(
        len(trace.keys), len(pauses), counts[0], counts[1], reached - len(trace.origin), len(acceptable), len(whole)
    )


def traffic(log: Log, logged: Iterable[dict[str, Any]]) -> Traffic:
    """`logged` are the decoder's records of the session."""
    known = {record["request"] for record in logged}
    kinds = Counter(asked.kind for asked in log.asked)
    replied = sorted((asked for asked in log.asked if asked.kind == "item"), key=lambda asked: asked.replied_at)
    before: set[int] = set()
    typed_along = 0
    for asked in replied:
        typed_along += asked.answer in before or asked.answer not in known
        before.add(asked.answer)
    return Traffic(
        requests=len(log.asked),
        cancelled=sum(asked.cancelled for asked in log.asked),
        items=kinds["item"],
        empty=kinds["empty"],
        nulls=kinds["null"],
        errors=kinds["error"],
        unanswered=kinds["unanswered"],
        typed_along=typed_along,
        latencies=tuple(1000 * (asked.replied_at - asked.at) for asked in log.asked if asked.kind in ("item", "empty")),
    )


def decoded(
    logged: Sequence[dict[str, Any]], unanswered: Sequence[dict[str, Any]], shown: set[int], cpu: float
) -> Decoded:
    """logged, unanswered: the decoder's records of the session; shown: the answers that were on screen."""
    records = [record for record in logged if record["trigger"] != "warm_up"]
    steps = {record["request"]: record["speculation"]["steps"] for record in records}
    others = Counter[str]()
    for record in unanswered:
        others[record["why"]] += record["steps"]
    quiet = [record for record in records if not record["shown_characters"]]
    return Decoded(
        asked=len(records),
        steps=sum(steps.values()) + others["given_up"],
        wasted=sum(count for request, count in steps.items() if request not in shown) + others["given_up"],
        ahead=others["ahead"],
        cpu=cpu,
        reasons=Counter(record["reason"] for record in quiet),
    )


def total(parts: Sequence[_T]) -> _T:
    """All counts added up."""
    kind = type(parts[0])
    return kind(*(reduce(operator.add, (getattr(part, each.name) for part in parts)) for each in fields(kind)))


def _before(time: float, until: float) -> float:
    """Just before the next key where that comes first."""
    return time if time < until else until - 1e-6


def _num_common(one: str, other: str) -> int:
    """Length of the longest common beginning.

    >>> _num_common("abcd", "abxd")
    2
    """
    return next(
        (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
