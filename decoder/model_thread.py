"""The one thread that a model runs on: work is advanced a step at a time, the most urgent first."""

import asyncio
import heapq
import itertools
import logging
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any, Generic, TypeVar

_log = logging.getLogger(__name__)

_T = TypeVar("_T")
Work = Generator[None, None, _T]
"""Yields after every step, which is then a place to stop at; its value is the result."""


class Priority(IntEnum):
    """Who comes first; equals are served in the order in which they came, one to its end and then the next."""

    REQUEST = 0
    WARM_UP = 1
    BACKGROUND = 2


@dataclass(order=True, slots=True)
class Job(Generic[_T]):
    """Work in the queue or under way."""

    priority: Priority
    number: int
    work: Work[_T] = field(compare=False)
    done: "Future[_T]" = field(compare=False, default_factory=Future)
    begun: bool = field(compare=False, default=False)
    unwanted: bool = field(compare=False, default=False)


class ModelThread:
    """Runs generators on a thread of its own. Only the thread advances and closes them."""

    def __init__(self, name: str) -> None:
        self._jobs: list[Job[Any]] = []
        self._numbers = itertools.count()
        self._news = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Work[_T], priority: Priority) -> Job[_T]:
        """Queues work. Its `done` tells the result, or is cancelled where the work was given up."""
        job = Job(priority, next(self._numbers), work)
        with self._news:
            if self._closing:
                job.done.cancel()
                return job
            heapq.heappush(self._jobs, job)
            self._news.notify()
        return job

    def give_up(self, job: Job[Any]) -> None:
        """Ends work after the step under way; what has not begun is dropped at once."""
        with self._news:
            job.unwanted = True
            if not job.begun and job in self._jobs:
                self._remove(job)
                job.done.cancel()
            self._news.notify()

    async def result(self, job: Job[_T]) -> _T:
        """Waits for a job. Cancelling this gives it up; CancelledError is raised once the thread is free of it."""
        waiting = asyncio.wrap_future(job.done)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.give_up(job)
            await asyncio.wait([waiting])
            raise
        finally:
            if waiting.done() and not waiting.cancelled():
                waiting.exception()  # whoever cancelled does not ask for it

    def close(self) -> None:
        """Gives everything up and ends the thread; waits for the step under way."""
        with self._news:
            self._closing = True
            self._news.notify()
        self._thread.join()

    def _run(self) -> None:
        while (turn := self._next()) is not None:
            turn()
        for job in list(self._jobs):
            self._give_up(job)

    def _next(self) -> Callable[[], None] | None:
        """What to do next. From here on only the thread takes the job out of the queue."""
        with self._news:
            while not self._jobs and not self._closing:
                self._news.wait()
            if self._closing:
                return None
            if unwanted := next((job for job in self._jobs if job.unwanted), None):
                return partial(self._give_up, unwanted)
            job = self._jobs[0]
            job.begun = True
            return partial(self._advance, job)

    def _advance(self, job: Job[Any]) -> None:
        try:
            next(job.work)
        except StopIteration as end:
            self._remove(job)
            job.done.set_result(end.value)
        except BaseException as error:
            self._remove(job)
            job.done.set_exception(error)

    def _give_up(self, job: Job[Any]) -> None:
        self._remove(job)
        try:
            job.work.close()
        except Exception:
            _log.exception("work that was given up did not end well")
        job.done.cancel()

    def _remove(self, job: Job[Any]) -> None:
        with self._news:
            self._jobs.remove(job)
            heapq.heapify(self._jobs)
