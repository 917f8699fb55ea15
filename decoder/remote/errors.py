"""What a server cannot do, and what that says of the next request."""

from typing import Literal

from decoder.engine import EngineError

Blame = Literal["request", "server", "settings"]


class RemoteError(EngineError):
    """The text names server, cause and remedy; never the key, and never code.

    blame: on `request`, the next one may well be answered; on `server`, if that goes on it is left in peace for a
    while; on `settings`, no request can be answered. retry_seconds: how long the server asks to be left in peace.
    status: of HTTP, 0 where there is none. is_certain: it need not be seen again to be believed.
    """

    def __init__(
        self,
        text: str,
        blame: Blame = "server",
        *,
        retry_seconds: float = 0.0,
        status: int = 0,
        is_certain: bool = False,
    ) -> None:
        super().__init__(text)
        self.blame = blame
        self.retry_seconds = retry_seconds
        self.status = status
        self.is_certain = is_certain or blame == "settings" or retry_seconds > 0

    def with_outlook(self) -> "RemoteError":
        """As somebody is told who waits for completions: a server may get well by itself, a mistake does not."""
        if self.blame != "server":
            return self
        return RemoteError(
            f"{self} (draftline tries again by itself)",
            retry_seconds=self.retry_seconds,
            status=self.status,
            is_certain=self.is_certain,
        )
