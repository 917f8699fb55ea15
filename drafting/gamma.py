"""How many draft tokens are worth their rows: the draft length with the most tokens per millisecond."""

from collections.abc import Sequence
from itertools import accumulate
from math import ceil, sqrt
from operator import mul
from typing import NamedTuple, Protocol

from drafting.interface import Draft
from drafting.survival import PRIOR_WEIGHT, Situation, Survival

MOST_GAMMA = 15
LEAST_GAIN = 0.02
"""A draft length, or a drafter, is changed only for a gain of so much."""

_PACE = 0.1
"""A draft moves the cost of a draft token by a tenth of what it was off."""

FREE = 1.02
"""A draft that makes a pass no more than this much dearer costs nothing."""

PROBE_GAMMA = 2
PROBE_EVERY = 16
PROBE_SHARE = 0.01
"""A draft model that does not pay is asked for so many tokens every so many steps, as its acceptance may change; less
often where that would take more than this share of the time."""

OTHER_EVERY = 128
"""After so many steps that all drafted, or all did not, lookup does the other once: what both cost stays known."""


class Cost(Protocol):
    """What a forward pass of the target costs."""

    def of(self, rows: int) -> float:
        """Milliseconds of a pass with so many rows."""
        ...


class Worth(NamedTuple):
    """A draft length, and the tokens per millisecond expected of it."""

    gamma: int
    tokens_per_ms: float


class GammaTuner:
    """argmax over gamma of E(gamma) / (C_verify(gamma + 1) + C_draft(gamma)), E = 1 + S_1 + ... + S_gamma."""

    def __init__(self, cost: Cost, survival: Survival | None = None, *, ms_per_draft_token: float = 0.0) -> None:
        """ms_per_draft_token: of the draft model; what lookup costs is too little to count."""
        self.cost = cost
        self.survival = survival or Survival()
        self.ms_per_draft_token = ms_per_draft_token
        self._last: dict[Situation, int] = {}
        self._idle_steps: dict[str, int] = {}
        self._alike = 0
        self._drafted = False

    def lookup(self, situation: Situation, draft: Draft, *, only_free: bool = False) -> Worth:
        """For a draft that is there already; at most its length."""
        most = min(len(draft.tokens), MOST_GAMMA, self.free_gamma() if only_free else MOST_GAMMA)
        hazards = self.survival.hazards(situation, most, statement=draft.statement)
        return self._best(situation, hazards, 0.0)

    def other(self, gamma: int, most: int) -> int:
        """The length to take instead of `gamma`, as it is time to see what the other kind of pass costs now."""
        self._alike = self._alike + 1 if (gamma > 0) == self._drafted else 1
        self._drafted = gamma > 0
        if self._alike < OTHER_EVERY or most < 1:
            return gamma
        self._alike = 0
        return 0 if gamma else 1

    def model(self, situation: Situation, most: int) -> Worth:
        """For a draft model that has not drafted yet, so that the choice cannot depend on what it draws.

        Optimistic where little is known; a draft model that does not pay is tried again now and then.
        """
        if most < 1:
            return Worth(0, 1 / self.cost.of(1))
        most = min(most, MOST_GAMMA)
        tested = self.survival.tested(situation) + PRIOR_WEIGHT
        hazards = [
            min(1.0, hazard + 0.5 * sqrt(hazard * (1 - hazard) / tested))
            for hazard in self.survival.hazards(situation, most)
        ]
        best = self._best(situation, hazards, self.ms_per_draft_token)
        if best.tokens_per_ms < (1 + LEAST_GAIN) / self.cost.of(1):  # nobody would ask for it
            best = Worth(0, 1 / self.cost.of(1))
        idle = 0 if best.gamma else self._idle_steps.get(situation.language, 0) + 1
        is_due = idle >= self._probe_every()
        self._idle_steps[situation.language] = 0 if is_due else idle
        if is_due:
            return Worth(min(PROBE_GAMMA, most), float("inf"))
        return best

    def tail(self, model: Situation, gamma: int, situation: Situation, draft: Draft) -> int:
        """How many tokens of a lookup draft are worth appending to a model's `gamma` tokens in situation `model`."""
        most = min(len(draft.tokens), MOST_GAMMA - gamma)
        before = list(accumulate(self.survival.hazards(model, gamma), mul))
        after = accumulate(self.survival.hazards(situation, most, statement=draft.statement), mul)
        drafting = gamma * self.ms_per_draft_token
        expected = list(accumulate((before[-1] * each for each in after), initial=1.0 + sum(before)))
        return max(range(most + 1), key=lambda more: expected[more] / (self.cost.of(gamma + more + 1) + drafting))

    def free_gamma(self) -> int:
        """The longest draft whose rows cost nothing."""
        plain = self.cost.of(1)
        return max(gamma for gamma in range(MOST_GAMMA + 1) if self.cost.of(gamma + 1) <= FREE * plain or gamma == 0)

    def drafted(self, num_tokens: int, milliseconds: float) -> None:
        """The draft model took so long for so many tokens."""
        if num_tokens:
            self.ms_per_draft_token += _PACE * (milliseconds / num_tokens - self.ms_per_draft_token)

    def _probe_every(self) -> int:
        plain = self.cost.of(1)
        extra = self.cost.of(1 + PROBE_GAMMA) - plain + PROBE_GAMMA * self.ms_per_draft_token
        return max(PROBE_EVERY, ceil(extra / (PROBE_SHARE * plain)))

    def _best(self, situation: Situation, hazards: Sequence[float], ms_per_token: float) -> Worth:
        worth = self.worths(hazards, ms_per_token)
        best = max(range(len(worth)), key=worth.__getitem__)
        last = min(self._last.get(situation, best), len(hazards))
        gamma = best if worth[best] >= (1 + LEAST_GAIN) * worth[last] else last
        if best < len(hazards) or situation not in self._last:  # a short draft says nothing about longer ones
            self._last[situation] = gamma
        return Worth(gamma, worth[gamma])

    def worths(self, hazards: Sequence[float], ms_per_token: float = 0.0) -> list[float]:
        """Expected tokens per millisecond for gamma = 0, 1, ..., len(hazards)."""
        expected = accumulate(accumulate(hazards, mul), initial=1.0)
        return [tokens / (self.cost.of(g + 1) + g * ms_per_token) for g, tokens in enumerate(expected)]
