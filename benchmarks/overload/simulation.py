"""A discrete-event simulation of one model thread and its queue, with the real `Governor`."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Literal

from benchmarks.overload.arrivals import Arrival, Pattern, arrivals
from benchmarks.overload.workload import LOOKUP_SURVIVAL, PREFILL_MS, Workload
from decoder.governor import FULL, LIMITED, Governor, Ticket
from drafting.cascade import Permit
from drafting.gamma import GammaTuner

Mode = Literal["off", "on", "governed"]
MODES: tuple[Mode, ...] = ("off", "on", "governed")

MODEL_GAMMA = 4
SERVICES = 3000
"""How long the load lasts, in answers that could be given meanwhile."""


@dataclass(slots=True, eq=False)
class Request:
    """A request that waits or is worked on."""

    arrival: Arrival
    ticket: Ticket
    random: Random
    num_written: int = 0
    model_follows: bool = False
    superseded: bool = False


class Thread:
    """The model thread: how long each of its passes takes, and how many tokens come of it."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._plain = workload.cost.of(1)
        tuner = GammaTuner(workload.cost)
        hazards = [later / sooner for sooner, later in pairwise((1.0, *LOOKUP_SURVIVAL))]
        worths = tuner.worths(hazards)
        self._lookup_gamma = worths.index(max(worths))
        self._free_gamma = tuner.free_gamma()

    def step(self, request: Request, permit: Permit | None) -> float:
        """Seconds of one pass, whose tokens are added to the request. permit None: no drafts at all."""
        if permit is not None and request.random.random() < self._workload.hits:
            gamma = min(self._lookup_gamma, self._free_gamma) if permit.only_free else self._lookup_gamma
            return self._verify(request, gamma, self._workload.lookup)
        if permit is not None and permit.model:
            drafting = (MODEL_GAMMA * self._plain + (0 if request.model_follows else PREFILL_MS)) / 1000
            request.model_follows = True
            seconds = self._verify(request, MODEL_GAMMA, self._workload.model)
            return seconds + self._workload.draft_share * drafting
        return self._verify(request, 0, ())

    def _verify(self, request: Request, gamma: int, survival: Sequence[float]) -> float:
        luck = request.random.random()
        request.num_written += 1 + sum(luck < each for each in survival[:gamma])
        return self._workload.cost.of(gamma + 1) / 1000


@dataclass(slots=True)
class Outcome:
    """seconds: how long the load lasted; `answers` and `tokens` were ready by then. latencies: of all, in seconds.

    permitted: share of the passes under load that might ask the draft model. recovery: seconds from the last
    request's end until speculation is on again, nothing arriving.
    """

    seconds: float
    answers: int = 0
    tokens: int = 0
    latencies: list[float] = field(default_factory=list)
    permitted: float = 0.0
    recovery: float = 0.0


class Simulation:
    """One run: a queue served in order, in which a newer request of a document takes the older one's place away."""

    def __init__(self, workload: Workload, mode: Mode, coming: Sequence[Arrival], seconds: float) -> None:
        self.governor = Governor()
        self.outcome = Outcome(seconds)
        self._thread = Thread(workload)
        permits: dict[Mode, Callable[[float], Permit | None]] = {
            "off": lambda _now: None,
            "on": lambda _now: FULL,
            "governed": self.governor.permit,
        }
        self._permit = permits[mode]
        self._coming = deque(coming)
        self._queue: deque[Request] = deque()
        self._newest: dict[int, Request] = {}
        self._now = 0.0

    def run(self) -> Outcome:
        """Until all is served and speculation is on again."""
        num_passes = num_full = 0
        while self._coming or self._queue:
            if not self._queue:
                self._pass_until(self._coming[0].time)
            request = self._queue.popleft()
            if request.superseded:  # withdrawn when that happened
                continue
            self.governor.start(request.ticket, self._now)
            self._pass_until(self._now + PREFILL_MS / 1000)
            while request.num_written < request.arrival.num_tokens and not request.superseded:
                permit = self._permit(self._now)
                if self._now < self.outcome.seconds:
                    num_passes, num_full = num_passes + 1, num_full + (permit == FULL)
                self._pass_until(self._now + self._thread.step(request, permit))
            self._end(request)
        self.outcome.permitted = num_full / max(1, num_passes)
        self._recover()
        return self.outcome

    def _pass_until(self, time: float) -> None:
        """Lets requests arrive meanwhile."""
        while self._coming and self._coming[0].time <= time:
            self._arrive(self._coming.popleft())
        self._now = time

    def _arrive(self, arrival: Arrival) -> None:
        older = self._newest.get(arrival.document)
        if older is not None:
            older.superseded = True
            if older in self._queue:
                self.governor.withdraw(older.ticket, arrival.time)
        request = Request(arrival, self.governor.arrive(arrival.time), Random(arrival.seed))
        self._newest[arrival.document] = request
        self._queue.append(request)

    def _end(self, request: Request) -> None:
        if request.superseded:
            self.governor.withdraw(request.ticket, self._now)
            return
        self.governor.depart(request.ticket, self._now)
        del self._newest[request.arrival.document]
        self.outcome.latencies.append(self._now - request.arrival.time)
        if self._now < self.outcome.seconds:
            self.outcome.answers += 1
            self.outcome.tokens += request.arrival.num_tokens

    def _recover(self) -> None:
        idle_since = self._now
        while self._permit(self._now) == LIMITED:
            self._now += 0.1
        self.outcome.recovery = self._now - idle_since


def simulate(workload: Workload, pattern: Pattern, load: float, seed: int, services: int = SERVICES) -> list[Outcome]:
    """The same arrivals, at `load` times what can be answered without drafts, in each of `MODES`."""
    seconds = services * workload.mean_service
    coming = arrivals(pattern, load / workload.mean_service, seconds, Random(seed))
    return [Simulation(workload, mode, coming, seconds).run() for mode in MODES]


def ratio(outcome: Outcome, off: Outcome) -> float:
    """Answers over those without speculation; tokens, where there are fewer of them."""
    return min(outcome.answers / off.answers, outcome.tokens / off.tokens)
