"""Leaves a server in peace that does not answer, and finds out when it does again."""

import time
from collections.abc import Callable

from decoder.remote.errors import RemoteError

FAILURES = 3
"""So many in a row open the breaker."""

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0


class Breaker:
    """Closed: requests pass. Open: they are refused. After a pause one passes as a probe: it closes the breaker, or
    makes the next pause twice as long.
    """

    def __init__(
        self, on_trouble: Callable[[str], None] = lambda _text: None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """on_trouble: is told for people what the trouble is when the breaker opens, and "" when it has closed."""
        self._on_trouble = on_trouble
        self._clock = clock
        self._num_failures = 0
        self._pause = FIRST_PAUSE_SECONDS
        self._until = 0.0
        self._trouble = ""
        self._probing = False

    def enter(self) -> bool:
        """Before a request, which must be followed by `succeeded` or `failed`, or, if it is a probe, by `abandoned`.

        Whether it is one. Raises RemoteError where none may be made now.
        """
        if not self._trouble:
            return False
        if self._probing or self._clock() < self._until:
            raise RemoteError(self._trouble)
        self._probing = True
        return True

    def succeeded(self) -> None:
        """The server answers."""
        self._num_failures, self._pause, self._probing = 0, FIRST_PAUSE_SECONDS, False
        self._tell("")

    def failed(self, error: RemoteError) -> None:
        """The server did not answer, or refused: an answer all the same, where only the request was wrong."""
        if error.blame == "request":
            self.succeeded()
            return
        self._num_failures += 1
        if self._probing or error.is_certain or self._num_failures >= FAILURES:
            self._open(error)

    def abandoned(self) -> None:
        """Nobody waited for what the server would say to a probe, or it is over."""
        self._probing = False

    def _open(self, error: RemoteError) -> None:
        self._probing = False
        self._until = self._clock() + max(self._pause, error.retry_seconds)
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        self._tell(str(error))

    def _tell(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._on_trouble(trouble)
