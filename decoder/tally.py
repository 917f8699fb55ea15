"""Adds up the steps of one answer."""

from collections import Counter

from decoder.speculate import Step
from decoder.wire.messages import SourceCounts, Speculation


class Tally:
    """Running totals of a generation; they reconcile with the tokens emitted."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._num_steps = 0
        self._drafted: Counter[str] = Counter()
        self._accepted: Counter[str] = Counter()

    def add(self, step: Step) -> None:
        """Counts one step."""
        self.tokens.extend(step.tokens)
        self._num_steps += 1
        for source, num_drafted, num_accepted in step.shares():
            self._drafted[source] += num_drafted
            self._accepted[source] += num_accepted

    def speculation(self) -> Speculation:
        """The totals as they go into an answer; gamma_mean is draft tokens a step."""
        drafted = self._drafted.total()
        return Speculation(
            steps=self._num_steps,
            drafted=drafted,
            accepted=self._accepted.total(),
            by_source={name: SourceCounts(self._drafted[name], self._accepted[name]) for name in sorted(self._drafted)},
            gamma_mean=round(drafted / self._num_steps, 3) if self._num_steps else 0.0,
        )
