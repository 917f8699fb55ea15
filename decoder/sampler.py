"""How one request chooses tokens: its sampling settings and its own stream of random numbers."""

import numpy as np

from decoder.accept import draw
from decoder.engine import EngineError
from decoder.sampling import GREEDY_BELOW, probabilities
from decoder.wire.messages import Sampling
from drafting.interface import Array

_RANGES = {"temperature": (0.0, 100.0), "top_k": (0, 2**31), "top_p": (0.0, 1.0), "seed": (0, 2**64 - 1)}


class Sampler:
    """One request's choices; the same seed and draft lengths give the same text."""

    def __init__(self, sampling: Sampling) -> None:
        """Raises EngineError for a setting out of its range."""
        for name, (least, most) in _RANGES.items():
            value = getattr(sampling, name)
            if not least <= value <= most:  # true of NaN as well
                raise EngineError(f"{name} {value} is not between {least} and {most}")
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
