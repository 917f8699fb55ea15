"""When requests come, and for which documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from benchmarks.overload.workload import TOKENS

Pattern = Literal["requests", "documents", "bursts", "typist"]
PATTERNS: tuple[Pattern, ...] = ("requests", "documents", "bursts", "typist")

NUM_DOCUMENTS = 8
BURST_KEYS, KEY_SECONDS = 6, 0.15


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request: at what second, for which document, how many tokens it takes, and the seed of its luck."""

    time: float
    document: int
    num_tokens: int
    seed: int


def arrivals(pattern: Pattern, rate: float, seconds: float, random: Random) -> list[Arrival]:
    """`rate` answers wanted a second, as a Poisson process. Only requests for one document supersede each other.

    requests: each for a document of its own. documents: each for one of a few documents. bursts: a few keystrokes, each
    a request, for every answer wanted. typist: bursts in one document, so that nobody ever waits for anybody else.
    """
    keys = BURST_KEYS if pattern in ("bursts", "typist") else 1
    made = []
    for number, begin in enumerate(_poisson(rate, seconds, random)):
        document = {"requests": number, "typist": 0}.get(pattern, random.randrange(NUM_DOCUMENTS))
        for key in range(keys):
            time = begin + key * KEY_SECONDS
            made.append(Arrival(time, document, random.randint(*TOKENS), random.randrange(2**32)))
    return sorted((each for each in made if each.time < seconds), key=lambda each: each.time)


def _poisson(rate: float, seconds: float, random: Random) -> Iterator[float]:
    time = random.expovariate(rate)
    while time < seconds:
        yield time
        time += random.expovariate(rate)
