"""What answers completions: one method, whether a model of ours or a remote server stands behind it."""

from typing import Protocol

from decoder.wire.messages import Answer, Complete


class Engine(Protocol):
    """Answers requests; safe to call for several at once."""

    model: str
    """The target's name, for people."""

    description: str
    """What runs it and how exactly, in one line for people; may be empty."""

    async def complete(self, request: Complete) -> Answer:
        """The answer to one request.

        Cancelling the awaiting task stops the work at the next step; CancelledError is raised only after the
        engine is ready for another request. Raises EngineError where it cannot answer.
        """
        ...

    async def aclose(self) -> None:
        """Releases what it holds. Requests under way are cancelled."""
        ...


class EngineError(Exception):
    """A request or an engine that cannot work; the text names the cause and the remedy."""
