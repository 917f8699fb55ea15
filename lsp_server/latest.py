"""Only the newest question about a document deserves an answer."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class Latest:
    """Runs at most one coroutine a key: a newer one cancels the older, whose caller gets None at once."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str, work: Coroutine[Any, Any, _T]) -> _T | None:
        """The result of `work`, or None where it was superseded. Cancelling this cancels `work`."""
        task = self._start(key, work)
        try:
            return await task
        except asyncio.CancelledError:
            if self._running.get(key) is task:
                raise
            return None
        finally:
            self._forget(key, task)

    def run_unwatched(self, key: str, work: Coroutine[Any, Any, object]) -> None:
        """Begins `work`, whose result nobody waits for."""
        task = self._start(key, work)
        task.add_done_callback(lambda _done: self._forget(key, task))

    def is_running(self, key: str) -> bool:
        """Whether something runs for `key`."""
        return key in self._running

    def supersede(self, key: str) -> None:
        """Ends what runs for `key`."""
        if (task := self._running.pop(key, None)) is not None:
            task.cancel()

    def supersede_all(self) -> None:
        """Ends whatever runs."""
        for key in list(self._running):
            self.supersede(key)

    def _start(self, key: str, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        self.supersede(key)
        task = asyncio.get_running_loop().create_task(work)
        self._running[key] = task
        return task

    def _forget(self, key: str, task: asyncio.Task[Any]) -> None:
        if self._running.get(key) is task:
            del self._running[key]
