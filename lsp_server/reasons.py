"""Why nothing was shown: the latest requests of this window, for who asks."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

MAX_REASONS = 64


@dataclass(frozen=True, slots=True)
class Reason:
    """One request in `uri` that showed nothing; `when` in seconds since the epoch."""

    uri: str
    reason: str
    when: float


class Reasons:
    """The newest first. The same again only moves its time: who types on gets the same reason many times."""

    def __init__(self) -> None:
        self._latest: deque[Reason] = deque(maxlen=MAX_REASONS)

    def note(self, uri: str, reason: str) -> None:
        """A request showed nothing."""
        if self._latest and (self._latest[0].uri, self._latest[0].reason) == (uri, reason):
            self._latest.popleft()
        self._latest.appendleft(Reason(uri, reason, time.time()))

    def __iter__(self) -> Iterator[Reason]:
        return iter(tuple(self._latest))
