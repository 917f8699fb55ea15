"""The target is one for all runs: it holds the text of one of them at a time, which alone can go on."""

from itertools import chain

from decoder.drafters import Drafters
from decoder.model_thread import Work
from decoder.run import Run
from drafting.prefix_cache import PrefixCache, prefill


class SharedTarget:
    """Hands the target, and the draft model's cache with it, from run to run."""

    def __init__(self, target: PrefixCache, drafters: Drafters) -> None:
        self._target = target
        self._drafters = drafters
        self._holder: Run | None = None
        self._num_turns = 0
        """How often the target was taken from whoever had it, or was about to."""

    def is_held_by(self, run: Run) -> bool:
        """Whether the run can make a step."""
        return self._holder is run

    def hold(self, run: Run) -> Work[int]:
        """Evaluates a run's text but for its last token; returns how many tokens of it were there already.

        Where another run takes the target meanwhile, this ends early, and `is_held_by` says so.
        """
        context = run.context
        if self._holder is run:
            return len(context)
        self.release()
        turn = self._num_turns
        num_cached = self._target.resume(context[:-1])
        for _ in chain(prefill(self._target, context[:-1]), self._drafters.prepare(run.request, context)):
            yield
            if self._num_turns != turn:
                return num_cached
        self._holder = run
        return num_cached

    def release(self) -> None:
        """Nobody holds the target any more; what it has evaluated stays."""
        self._num_turns += 1
        if self._holder:
            self._holder.pause()
            self._holder = None

    def forget(self) -> None:
        """As `release`, and nothing will be built upon what was evaluated."""
        self.release()
        self._target.forget()
        self._drafters.forget()
