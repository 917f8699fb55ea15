"""The latest requests that showed nothing, for `draftline explain`: in memory only, as their documents are named."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from decoder.wire.messages import Reason, Reasons

CAPACITY = 200

_OVERTAKEN = frozenset({"superseded", "cancelled"})
"""Ordinary while one types, and many: those that follow each other in a document count as one."""


@dataclass(frozen=True, slots=True)
class _Entry:
    at: float
    document: str
    language: str
    reason: str


class ReasonRing:
    """Keeps the latest CAPACITY entries."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: seconds, from any start."""
        self._clock = clock
        self._entries: deque[_Entry] = deque(maxlen=CAPACITY)

    def add(self, document: str, language: str, reason: str) -> None:
        """A request in `document` (a URI) has shown nothing."""
        if reason in _OVERTAKEN and (last := self._last_in(document)) and last.reason in _OVERTAKEN:
            self._entries.remove(last)
        self._entries.append(_Entry(self._clock(), document, language, reason))

    def reasons(self, document: str = "") -> Reasons:
        """The entries of one document, or of all; the newest first."""
        now = self._clock()
        return Reasons(
            tuple(
                Reason(now - entry.at, entry.document, entry.language, entry.reason)
                for entry in reversed(self._entries)
                if document in ("", entry.document)
            )
        )

    def _last_in(self, document: str) -> _Entry | None:
        return next((entry for entry in reversed(self._entries) if entry.document == document), None)
