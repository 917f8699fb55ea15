"""How one request chooses tokens: its sampling settings, its acceptance rule and its own random numbers."""

import numpy as np

from decoder.accept import AcceptanceRule, Accepted, coupled, draw, rejection
from decoder.engine import EngineError
from decoder.noise import Noise
from decoder.sampling import GREEDY_BELOW, most_likely, probabilities
from decoder.wire.messages import Sampling
from drafting.interface import Array, Draft

_RANGES = {"temperature": (0.0, 100.0), "top_k": (0, 2**31), "top_p": (0.0, 1.0), "seed": (0, 2**64 - 1)}


class Sampler:
    """One request's choices.

    Coupled, the text depends on the target and the seed alone; with the rejection rule on the draft lengths and the
    drafts as well, as every draw takes the next of a stream of random numbers. Greedy text is the same with both.
    """

    def __init__(self, sampling: Sampling, rule: AcceptanceRule = "coupled") -> None:
        """Raises EngineError for a setting out of its range."""
        for name, (least, most) in _RANGES.items():
            value = getattr(sampling, name)
            if not least <= value <= most:  # true of NaN as well
                raise EngineError(f"{name} {value} is not between {least} and {most}")
        self._sampling = sampling
        self._greedy = sampling.temperature < GREEDY_BELOW
        self._rule = "coupled" if self._greedy else rule
        self._noise = Noise(sampling.seed)
        self._random = np.random.Generator(np.random.Philox(sampling.seed))

    def accept(self, draft: Draft, logits: Array, position: int) -> Accepted:
        """What stands of a draft for the text at `position` and after, and the token that follows.

        logits: the target's, float32 [len(draft.tokens) + 1, vocabulary].
        """
        if self._greedy:
            return coupled(draft, most_likely(logits))
        if self._rule == "rejection":
            return rejection(draft, (self._row(row) for row in logits), self._random.random)
        return coupled(draft, (self.choose(row, position + place) for place, row in enumerate(logits)))

    def choose(self, logits: Array, position: int) -> int:
        """The target's token at `position` of the text, from logits [vocabulary]."""
        if self._greedy:
            return next(most_likely(logits[None, :]))
        if self._rule == "rejection":
            return draw(self._row(logits), self._random.random())
        return self._noise.choose(self._row(logits), position)

    def pick(self, logits: Array, position: int) -> tuple[int, Array | None]:
        """A drafter's own choice from logits [vocabulary]: see `drafting.small_model.Pick`."""
        if self._rule == "rejection":
            row = self._row(logits)
            return draw(row, self._random.random()), row
        return self.choose(logits, position), None

    def _row(self, logits: Array) -> Array:
        return probabilities(logits, self._sampling)
