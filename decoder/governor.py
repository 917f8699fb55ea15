"""How much speculation the present load allows. Knows requests by their tickets and the times it is told, no clock."""

import math
from dataclasses import dataclass
from threading import Lock

from drafting.cascade import Permit

MEMORY_SECONDS = 10.0
"""Time constant of the arrivals' rate, an exponential decay; at least so many services long as is said next."""

MEMORY_SERVICES = 20
"""Time constant of what a service takes, in services. One arrival raises rho by 1 / 20 at most, then."""

CLOSE_RHO = 0.8
OPEN_RHO = 0.6
CLOSE_WAITING = 2

FULL = Permit()
LIMITED = Permit(model=False, only_free=True)


@dataclass(frozen=True, slots=True)
class Load:
    """What the governor knows at one moment.

    rho: arrivals a second x seconds of a service; 1 and more is what cannot be served.
    waiting: requests in the queue now, without the one being served.
    service: mean seconds of a service, 0.0 before the first. variation: its squared coefficient of variation.
    """

    rho: float
    waiting: int
    service: float
    variation: float
    permit: Permit

    @property
    def expected_wait(self) -> float:
        """Seconds in the queue: Kingman (1961), rho / (1 - rho) x (ca² + cs²) / 2 x E[S]; Poisson arrivals have ca = 1.

        >>> Load(rho=0.5, waiting=0, service=2.0, variation=0.0, permit=FULL).expected_wait
        1.0
        """
        if self.rho >= 1:
            return math.inf
        return self.rho / (1 - self.rho) * (1 + self.variation) / 2 * self.service

    @property
    def expected_waiting(self) -> float:
        """Requests in the queue: Little (1961), arrivals a second x seconds of waiting.

        >>> Load(rho=0.5, waiting=0, service=2.0, variation=0.0, permit=FULL).expected_waiting
        0.25
        """
        return self.rho * self.expected_wait / self.service if self.service else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One request, from its arrival to its answer or withdrawal. decays: time constants that had passed before it."""

    decays: float


class Governor:
    """Limits speculation to what is free while requests queue up, and lifts the limit once the load has gone.

    Limited from 2 waiting requests or rho > 0.8 on, until fewer wait and rho < 0.6. A request that is withdrawn, by
    its client or by a newer one for the same document, counts for nothing, also in hindsight: nobody waits for it.
    Times are seconds of any clock that does not go back, `time.monotonic()` say; they may come slightly out of order,
    as threads tell them. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._now = -math.inf
        self._decays = 0.0
        self._arrivals = 0.0
        self._waiting: set[Ticket] = set()
        self._running: dict[Ticket, float] = {}
        self._services = _Moments()
        self._permit = FULL
        self._lock = Lock()

    def arrive(self, now: float) -> Ticket:
        """A request enters the queue."""
        with self._lock:
            self._advance(now)
            ticket = Ticket(self._decays)
            self._waiting.add(ticket)
            self._arrivals += 1.0
            self._judge()
            return ticket

    def start(self, ticket: Ticket, now: float) -> None:
        """It leaves the queue and is worked on."""
        with self._lock:
            self._advance(now)
            self._waiting.remove(ticket)
            self._running[ticket] = self._now
            self._judge()

    def depart(self, ticket: Ticket, now: float) -> None:
        """It was worked on to its end."""
        with self._lock:
            self._advance(now)
            self._services.add(self._now - self._running.pop(ticket))
            self._judge()

    def withdraw(self, ticket: Ticket, now: float) -> None:
        """It is no longer wanted, whether it was started or not."""
        with self._lock:
            self._advance(now)
            self._waiting.discard(ticket)
            self._running.pop(ticket, None)
            self._arrivals = max(0.0, self._arrivals - math.exp(ticket.decays - self._decays))
            self._judge()

    def permit(self, now: float) -> Permit:
        """What a step that begins now may do."""
        with self._lock:
            self._advance(now)
            return self._permit

    def load(self, now: float) -> Load:
        """For status and telemetry."""
        with self._lock:
            self._advance(now)
            services = self._services
            return Load(self._rho(), len(self._waiting), services.mean, services.variation, self._permit)

    def _advance(self, now: float) -> None:
        """Lets time pass: without arrivals rho falls, and with it the limit."""
        if now > self._now:
            passed = (now - self._now) / self._memory() if self._arrivals else 0.0
            self._decays += passed
            self._arrivals *= math.exp(-passed)
            self._now = now
            self._judge()

    def _judge(self) -> None:
        rho, crowded = self._rho(), len(self._waiting) >= CLOSE_WAITING
        if crowded or rho > CLOSE_RHO:
            self._permit = LIMITED
        elif rho < OPEN_RHO:
            self._permit = FULL

    def _rho(self) -> float:
        """Arrivals count as if none had come before the first: one early request is no load."""
        return self._arrivals / self._memory() * self._services.mean

    def _memory(self) -> float:
        return max(MEMORY_SECONDS, MEMORY_SERVICES * self._services.mean)


class _Moments:
    """Mean and squared coefficient of variation of the latest services, each weighing a bit less than the next."""

    def __init__(self) -> None:
        self._weight = self._sum = self._squares = 0.0

    def add(self, seconds: float) -> None:
        kept = 1 - 1 / MEMORY_SERVICES
        self._weight = kept * self._weight + 1
        self._sum = kept * self._sum + seconds
        self._squares = kept * self._squares + seconds**2

    @property
    def mean(self) -> float:
        return self._sum / self._weight if self._weight else 0.0

    @property
    def variation(self) -> float:
        """Var[S] / E[S]²."""
        return max(0.0, self._squares * self._weight / self._sum**2 - 1) if self._sum else 0.0
