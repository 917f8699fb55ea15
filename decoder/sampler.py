"""How one request chooses tokens: its sampling settings and its own stream of random numbers."""

import numpy as np

from decoder.accept import draw
from decoder.sampling import GREEDY_BELOW, probabilities
from decoder.wire.messages import Sampling
from drafting.interface import Array


class Sampler:
    """One request's choices; the same seed and draft lengths give the same text."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._random = np.random.Generator(np.random.Philox(sampling.seed))

    def probabilities(self, logits: Array) -> Array:
        """The target's p: as `sampling.probabilities` with this request's settings."""
        return probabilities(logits, self._sampling)

    def uniform(self) -> float:
        """The next draw from [0, 1), float64."""
        return float(self._random.random())

    def choose(self, probabilities: Array) -> int:
        """A token drawn from p [vocabulary]."""
        return draw(probabilities, self.uniform())

    def pick(self, logits: Array, _position: int) -> tuple[int, Array | None]:
        """A drafter's own choice from logits [vocabulary]: see `drafting.small_model.Pick`."""
        row = probabilities(logits[None, :], self._sampling)[0]
        if self._sampling.temperature < GREEDY_BELOW:
            return int(row.argmax()), None
        return draw(row, self.uniform()), row
