"""What the editor is told about the state of completions: something new at every change, nothing twice."""

from collections.abc import Callable

from decoder.wire.messages import Status

SWITCHED_OFF = Status("paused", "completions are switched off by the setting `enabled`")


class StatusLine:
    """The decoder's state, or that the person wants no completions."""

    def __init__(self, tell: Callable[[Status], None]) -> None:
        """tell: is told every change."""
        self._tell = tell
        self._of_decoder = Status("loading", "not connected to the decoder yet")
        self._enabled = True
        self._told: Status | None = None

    @property
    def latest(self) -> Status:
        """The state now."""
        return self._of_decoder if self._enabled else SWITCHED_OFF

    def follow(self, status: Status) -> None:
        """The decoder has said how it is."""
        self._of_decoder = status
        self._tell_change()

    def switch(self, *, enabled: bool) -> None:
        """The person has switched completions on or off; on is how they begin."""
        if enabled != self._enabled:
            self._enabled = enabled
            self._tell_change()

    def _tell_change(self) -> None:
        if self.latest != self._told:
            self._told = self.latest
            self._tell(self.latest)


def as_json(status: Status) -> dict[str, str]:
    """As editors get it: `remedy` is the part of an error's message that says what to do.

    >>> as_json(Status("error", "no model; run `draftline models pull`"))["remedy"]
    'run `draftline models pull`'
    """
    told = {"state": status.state, "message": status.message, "model": status.model}
    if status.state == "error":
        told["remedy"] = status.message.partition("; ")[2] or "run `draftline doctor`"
    return told
