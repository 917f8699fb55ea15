"""One replay from texts to result: every mode under every cost curve."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.progress import Progress

from decoder.bench.replay import SURVEY_GAMMA, KnownTarget, Replayed, Survey, replay, survey
from decoder.bench.replay_report import ASSUMPTIONS, Graded, mode_report
from decoder.bench.report import machine, versions
from decoder.bench.run import Run, opened, request_for
from decoder.bench.truth import Truth
from decoder.cost import PassCost
from decoder.drafters import Drafters
from decoder.sampler import Sampler
from decoder.terminal import err
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Sampling
from drafting.corpus import Corpus
from drafting.interface import LanguageModel


def drafters_under(cost: PassCost, target: LanguageModel, corpus: Corpus, tokenizer: Tokenizer) -> Drafters:
    """Drafters that know what passes cost and nothing else: the one place where a replay's are made."""
    return Drafters(target, corpus, spelling=tokenizer, cost=cost)


def grade(
    truths: Sequence[Truth], tokenizer: Tokenizer, runs: Sequence[Run], curves: Mapping[str, PassCost]
) -> dict[str, Any]:
    """The object of `bench --replay ... --json`. Raises EngineError for a mode that needs a model."""
    corpus, target = Corpus(tokenizer.encode, tokenizer.token_bytes), KnownTarget(tokenizer.vocabulary)
    lanes = [_Lane(run, name, cost, target, corpus, tokenizer) for name, cost in curves.items() for run in runs]
    for truth in _shown(truths):
        with opened(corpus, truth.task):
            for lane in lanes:
                lane.take(truth)
    return {
        "assumptions": list(ASSUMPTIONS),
        "curves": {
            name: {
                **asdict(cost),
                "modes": {lane.run.name: mode_report(lane.graded, cost) for lane in lanes if lane.curve == name},
            }
            for name, cost in curves.items()
        },
        "machine": machine(),
        "versions": versions(),
    }


class _Lane:
    """One mode under one cost curve, with drafters of its own that learn from text to text."""

    def __init__(
        self, run: Run, curve: str, cost: PassCost, target: LanguageModel, corpus: Corpus, tokenizer: Tokenizer
    ) -> None:
        self.run = run
        self.curve = curve
        self._drafters = drafters_under(cost, target, corpus, tokenizer)
        self._surveyors = drafters_under(cost, target, corpus, tokenizer)
        self._replayed: list[Replayed] = []
        self._surveys: list[Survey] = []

    @property
    def graded(self) -> Graded:
        """All texts so far."""
        return Graded(self._replayed, self._surveys)

    def take(self, truth: Truth) -> None:
        """The next text."""
        request = request_for(self.run, truth.task)
        drafter = self._drafters.make(request, Sampler(Sampling()))
        self._replayed.append(replay(truth, drafter, self._drafters.gamma(request)))
        if self.run.gamma is None:
            widest = request_for(Run(self.run.mode, SURVEY_GAMMA), truth.task)
            self._surveys.append(survey(truth, self._surveyors.make(widest, Sampler(Sampling()))))


def _shown(truths: Sequence[Truth]) -> Iterator[Truth]:
    """With a bar on a terminal."""
    with Progress(console=err, transient=True) as progress:
        yield from progress.track(truths, description="replay")
