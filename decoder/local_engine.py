"""Answers completions with a model in this process: requests first, and between them what may be asked for next."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from decoder.drafters import Drafters
from decoder.engine import EngineError
from decoder.governor import Governor, Ticket
from decoder.learned import Learned
from decoder.model_thread import Job, ModelThread, Priority, Work
from decoder.sampling import NonFiniteLogitsError
from decoder.torch_engine.memory import DeviceMemoryError
from decoder.wire.messages import Answer, Complete, Draft, Sampling
from decoder.writer import Served, Writer
from drafting.survival import State

_log = logging.getLogger(__name__)

SAVE_SECONDS = 300.0
"""What drafting has learned is kept so often at most, and at the end."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for requests that leave it open.

    background_tokens: so many are written ahead after an answer, as if it had been accepted; 0 for none.
    """

    draft: Draft = "auto"
    gamma: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    background_tokens: int = 0

    def applied(self, request: Complete) -> Complete:
        """The request with nothing left open but what is to be learned."""
        return replace(
            request,
            draft=self.draft if request.draft == "auto" else request.draft,
            gamma=self.gamma if request.gamma is None else request.gamma,
            sampling=request.sampling or self.sampling,
        )


class LocalEngine:
    """The `Engine` over one target model."""

    def __init__(
        self,
        writer: Writer,
        drafters: Drafters,
        *,
        model: str,
        description: str = "",
        defaults: Defaults = Defaults(),
        governor: Governor | None = None,
        learned: Learned | None = None,
        saves_power: Callable[[], bool] = lambda: False,
    ) -> None:
        """governor: told of the requests' comings and goings; the drafters ask it what the load allows.

        learned: where what drafting learns is kept. saves_power: whether nothing is to be written ahead just now.
        """
        self.model = model
        self.description = description
        self._writer = writer
        self._drafters = drafters
        self._defaults = defaults
        self._saves_power = saves_power
        self._latest: Complete | None = None
        self._ahead: Job[None] | None = None
        self._governor = governor or Governor()
        self._learned = learned
        self._saved = time.monotonic()
        self._saving: asyncio.Task[None] | None = None
        self._closing = False
        self._thread = ModelThread("model")

    async def complete(self, request: Complete) -> Answer:
        """As `Engine.complete`."""
        request = self._defaults.applied(request)
        self._drafters.check(request.draft)
        _require_sense(request)
        self._stop_writing_ahead()
        try:
            if request.trigger == "warm_up":
                job = self._thread.submit(self._writer.warm_up(request), Priority.WARM_UP)
                return await self._thread.result(job)
            self._latest = request
            served = await self._serve(request)
        except (NonFiniteLogitsError, DeviceMemoryError) as error:
            raise EngineError(f"{self.model}: {error}") from error
        if self._latest is request:  # else the target has another one's text to write
            self._write_ahead(served)
        self._keep_learned_now_and_then()
        return served.answer

    async def aclose(self) -> None:
        """As `Engine.aclose`."""
        self._closing = True
        if self._saving:
            await asyncio.wait([self._saving])
        await asyncio.to_thread(self._thread.close)
        if self._learned:
            await asyncio.to_thread(self._learned.save, self.model, self._drafters.tuner.survival.state())

    async def _serve(self, request: Complete) -> Served:
        """Queues the request, and tells the governor. One that fails or is given up says nothing of the load."""
        ticket = self._governor.arrive(time.monotonic())
        job = self._thread.submit(self._counted(request, ticket, time.perf_counter()), Priority.REQUEST)
        try:
            return await self._thread.result(job)
        finally:
            if not job.begun:
                self._governor.withdraw(ticket, time.monotonic())

    def _counted(self, request: Complete, ticket: Ticket, asked: float) -> Work[Served]:
        self._governor.start(ticket, time.monotonic())
        leave = self._governor.withdraw
        try:
            served = yield from self._writer.answer(request, asked)
            leave = self._governor.depart
            return served
        finally:
            leave(ticket, time.monotonic())

    def _write_ahead(self, served: Served) -> None:
        self._stop_writing_ahead()
        num_tokens = self._defaults.background_tokens
        if served.run and num_tokens and not self._saves_power():
            work = self._writer.write_ahead(served.run, served.end, num_tokens)
            self._ahead = self._thread.submit(work, Priority.BACKGROUND)
            self._ahead.done.add_done_callback(_tell_fault)

    def _stop_writing_ahead(self) -> None:
        if self._ahead:
            self._thread.give_up(self._ahead)
            self._ahead = None

    def _keep_learned_now_and_then(self) -> None:
        if self._learned and time.monotonic() - self._saved > SAVE_SECONDS and not self._closing:
            self._saved = time.monotonic()
            self._saving = asyncio.create_task(self._keep_learned(self._learned))

    async def _keep_learned(self, learned: Learned) -> None:
        """Takes what there is between two requests, and writes the file beside the model's thread."""
        state = await self._thread.result(self._thread.submit(self._state(), Priority.REQUEST))
        await asyncio.to_thread(learned.save, self.model, state)

    def _state(self) -> "Work[State]":
        yield from ()
        return self._drafters.tuner.survival.state()


def _tell_fault(ahead: "Future[None]") -> None:
    """Nobody waits for what is written ahead; the next request will meet the fault, or will not."""
    if not ahead.cancelled() and (error := ahead.exception()):
        _log.error("nothing more is written ahead: %s", error, exc_info=error)


def _require_sense(request: Complete) -> None:
    """Raises EngineError for lengths that mean nothing, rather than answer with nothing."""
    if request.max_tokens < 1:
        raise EngineError(f"max_tokens {request.max_tokens} is less than 1")
    if request.gamma is not None and request.gamma < 0:
        raise EngineError(f"gamma {request.gamma} is less than 0")
