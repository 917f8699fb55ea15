"""What passes cost and how drafts fare, in one setting."""

from dataclasses import dataclass

from decoder.cost import PassCost

TOKENS = (8, 48)
"""Shortest and longest answer."""

PREFILL_MS = 60.0
"""What is new of a prompt, by the target; the draft model takes its share of that."""

LOOKUP_SURVIVAL = (0.69, 0.49, 0.36, 0.26, 0.20, 0.15, 0.11, 0.09, 0.07, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02)
"""How often at least so many tokens of a lookup draft stand, on 240 completion tasks with the starter (int8)."""


def geometric(rate: float) -> tuple[float, ...]:
    """How often at least 1, 2, ... tokens stand where each does with the same probability."""
    return tuple(rate**k for k in range(1, 16))


@dataclass(frozen=True, slots=True)
class Workload:
    """What passes cost, and how drafts fare.

    hits: share of the steps in which lookup has a draft. lookup, model: how often at least 1, 2, ... tokens stand.
    draft_share: a pass of the draft model over one of the target. No tuner looks after its draft length, and lookup's
    is the best for `LOOKUP_SURVIVAL`, true or not: the governor alone is tried here.
    """

    name: str
    cost: PassCost
    hits: float = 0.5
    lookup: tuple[float, ...] = LOOKUP_SURVIVAL
    model: tuple[float, ...] = geometric(0.75)
    draft_share: float = 0.15

    @property
    def mean_service(self) -> float:
        """Seconds of an answer without drafts."""
        return (PREFILL_MS + sum(TOKENS) / 2 * self.cost.of(1)) / 1000


FLAT = PassCost((1, 4, 8, 16), (36.0, 37.0, 38.0, 38.0))
STEEP = PassCost((1, 4, 8, 16), (27.0, 38.0, 42.0, 42.0))
RISING = PassCost((1, 16), (30.0, 30.0 * (1 + 0.35 * 15)))
"""Milliseconds by rows: float16 and int8 as measured for the CPU engine (one row without padding), 1 + 0.35 gamma."""

POOR = tuple(0.1 * each for each in geometric(0.5))
WORKLOADS = (
    Workload("flat float16", FLAT),
    Workload("steep int8", STEEP),
    Workload("1 + 0.35 gamma", RISING),
    Workload("trap, flat", FLAT, lookup=POOR, model=geometric(0.3), draft_share=0.4),
    Workload("trap, steep", STEEP, lookup=POOR, model=geometric(0.3), draft_share=0.4),
)
"""A draft model's acceptance of .75 is what Leviathan et al. (2023) give for T5-small before T5-XXL, translating
greedily; lookup's curve is our own of 240 completion tasks. In the traps hardly a draft stands, and all are dear."""
