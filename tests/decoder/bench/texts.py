"""Known texts for replays."""

from collections.abc import Sequence

from decoder.bench.replay import Replayed
from decoder.bench.tasks import Task
from decoder.bench.truth import Truth
from decoder.speculate import Step


def truth(tokens: Sequence[int], *, language: str = "go", name: str = "t", context: Sequence[int] = (0,)) -> Truth:
    return Truth(Task(name, language, "a.go", "", "", "", ()), tuple(context), tuple(tokens))


def replayed(steps: Sequence[tuple[int, int]], *, language: str = "go", name: str = "t") -> Replayed:
    """steps: (drafted, accepted) each. All tokens are distinct."""
    num_tokens = sum(accepted + 1 for _, accepted in steps)
    made = tuple(Step((1,) * (accepted + 1), drafted, accepted, "lookup") for drafted, accepted in steps)
    return Replayed(truth(range(num_tokens), language=language, name=name), made, (10.0,) * len(made))
