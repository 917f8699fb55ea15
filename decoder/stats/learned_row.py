"""What drafting has learned of a file type and a source of drafts, and the draft length that follows from it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from decoder.cost import PassCost
from drafting.gamma import MOST_GAMMA, GammaTuner
from drafting.survival import Survival


@dataclass(frozen=True, slots=True)
class Payoff:
    """gamma: the draft length that pays best. A step then writes so many tokens; speedup: over passes of one row.

    It holds for a step that has a draft, one so long that stays within its statement.
    """

    gamma: float
    tokens_per_step: float
    speedup: float


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """Means over situations (how sure the drafter was, and how its last draft fared), weighted by verifications.

    verifications: recent ones; a situation keeps the weight of its last 200.
    first_stands: how probably the first draft token does.
    payoff: None where nobody knows what passes cost.
    """

    model: str
    language: str
    source: str
    verifications: int
    first_stands: float
    payoff: Payoff | None


def learned_rows(model: str, survival: Survival, cost: PassCost | None) -> Iterator[LearnedRow]:
    """By file type, and there by source.

    cost: of the target's passes. What a draft model's own passes cost is not remembered: its rows have no payoff.
    """
    known = sorted(survival.situations())
    for (language, source), found in groupby(known, key=lambda each: (each[0].language, each[0].source)):
        situations, weights = zip(*found, strict=True)
        hazards = [survival.hazards(each, MOST_GAMMA) for each in situations]
        yield LearnedRow(
            model,
            language,
            source,
            verifications=round(sum(weights)),
            first_stands=round(fmean((each[0] for each in hazards), weights), 3),
            payoff=_payoff(hazards, weights, cost) if cost and source != "model" else None,
        )


def _payoff(hazards: Sequence[Sequence[float]], weights: Sequence[float], cost: PassCost) -> Payoff:
    tuner = GammaTuner(cost)
    gammas, tokens, milliseconds = [], [], []
    for each in hazards:
        worths = tuner.worths(each)
        gamma = max(range(len(worths)), key=worths.__getitem__)
        gammas.append(gamma)
        tokens.append(worths[gamma] * cost.of(gamma + 1))
        milliseconds.append(cost.of(gamma + 1))
    written = fmean(tokens, weights)
    speedup = written * cost.plain / fmean(milliseconds, weights)
    return Payoff(round(fmean(gammas, weights), 1), round(written, 2), round(speedup, 2))
