"""How a person types and how fast answers come: whether a request should wait for the next key."""

from lsp_server.keystroke import Keystroke

MAX_WAIT = 0.2
"""Seconds; a longer wait is felt as a delay of its own."""

_PAUSE = 1.0
"""Seconds; keys further apart are a thought, no rhythm."""

_NEWEST = 0.2
"""Weight of the newest interval and latency in their averages: some ten keys tell."""

_FRACTION = 0.1
"""Of the time that an answer takes: so much later, nobody notices it."""


class Rhythm:
    """Learns the intervals between keys and the latencies of answers; all times are seconds of one clock."""

    def __init__(self) -> None:
        self._interval: float | None = None
        self._latency: float | None = None
        self._changed_at = float("-inf")
        self._typed_at = float("-inf")

    def changed(self, now: float, key: Keystroke | None) -> None:
        """A document was edited, by one key or in another way (None)."""
        if key is not None and now - self._typed_at < _PAUSE:
            self._interval = _average(self._interval, now - self._typed_at)
        self._changed_at = now
        self._typed_at = float("-inf") if key is None else now

    def answered(self, seconds: float) -> None:
        """The decoder gave an answer after so long."""
        self._latency = _average(self._latency, seconds)

    def delay(self, now: float, *, is_urgent: bool, fixed_ms: float | None = None) -> float:
        """Seconds to wait before the decoder is asked.

        A request that the next key supersedes wastes a step of the decoder, and the next one has to wait for its end.
        Yet a wait delays every answer that somebody pauses for, and most of these are near: so there is one only where
        it is small beside the answer's own time, a tenth of it, and the next key usually comes within it. That is where
        somebody types fast and answers are slow. What is not known yet is not waited for. A client that waits itself
        (Neovim: 200 ms) has let the time pass already.

        is_urgent: an explicit request, or one at the start of a line, where people look for a suggestion: no wait.
        fixed_ms: takes the place of what was learned; 0 for no wait at all.
        """
        wait = self._adapted() if fixed_ms is None else fixed_ms / 1000.0
        return 0.0 if is_urgent else max(wait - (now - self._changed_at), 0.0)

    def _adapted(self) -> float:
        if self._interval is None or self._latency is None:
            return 0.0
        unnoticed = min(_FRACTION * self._latency, MAX_WAIT)
        return unnoticed if self._interval <= unnoticed else 0.0


def _average(average: float | None, newest: float) -> float:
    return newest if average is None else average + _NEWEST * (newest - average)
