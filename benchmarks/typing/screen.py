"""What a person saw when: pure, from the log of a session."""

from bisect import bisect_right
from dataclasses import dataclass

from benchmarks.typing.policy import Policy
from benchmarks.typing.replay import Asked, Log
from benchmarks.typing.trace import Key, Trace


@dataclass(frozen=True, slots=True)
class Ghost:
    """A suggestion on screen: accepting it makes the text `full`; `answer` is its id."""

    full: str
    answer: int


@dataclass(frozen=True, slots=True)
class Screen:
    """From `times[i]` on, `ghosts[i]` is on screen (None: nothing)."""

    times: tuple[float, ...]
    ghosts: tuple[Ghost | None, ...]

    def at(self, time: float) -> Ghost | None:
        """What is on screen, also where it came at that very moment."""
        number = bisect_right(self.times, time)
        return self.ghosts[number - 1] if number else None

    def answers(self) -> set[int]:
        """All that was ever on screen."""
        return {ghost.answer for ghost in self.ghosts if ghost is not None}


def watch(trace: Trace, log: Log, policy: Policy) -> Screen:
    """Replays keys and replies in the order in which they came.

    A suggestion stays while what is typed equals its beginning, and goes with a deletion. One that comes late is shown
    where what was typed since it was asked for equals its beginning.
    """
    pressed = [(at, 0, number) for number, at in enumerate(log.pressed)]
    replied = [(asked.replied_at, 1, number) for number, asked in enumerate(log.asked) if asked.kind != "unanswered"]
    screen: list[tuple[float, Ghost | None]] = []
    ghost, newest = None, -1
    for at, is_reply, number in sorted(pressed + replied):
        if not is_reply:
            newest = number
            ghost = _after_key(ghost, trace.keys[number])
        elif not (policy.cancels and _is_overtaken(log, number, at)):
            ghost = _after_reply(ghost, log.asked[number], trace.keys[newest], newest, policy)
        screen.append((at, ghost))
    return Screen(tuple(at for at, _ in screen), tuple(each for _, each in screen))


def _after_key(ghost: Ghost | None, key: Key) -> Ghost | None:
    return ghost if ghost is not None and not key.is_deletion and _continues(ghost, key) else None


def _after_reply(ghost: Ghost | None, asked: Asked, key: Key, newest: int, policy: Policy) -> Ghost | None:
    if asked.kind == "item":
        found = Ghost(asked.full, asked.answer)
        return found if asked.key == newest or _continues(found, key) else ghost
    clears = asked.kind == "empty" or (asked.kind == "null" and policy.null_clears)
    return None if clears and asked.key == newest else ghost


def _continues(ghost: Ghost, key: Key) -> bool:
    return ghost.full.startswith(key.written) and ghost.full != key.written


def _is_overtaken(log: Log, number: int, at: float) -> bool:
    """Whether a newer request had been sent: an editor that cancels looks at that one's reply only."""
    return number + 1 < len(log.asked) and log.asked[number + 1].at <= at
