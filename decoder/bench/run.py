"""Runs every task in every mode, side by side on one model and one KV cache."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath

from decoder.assemble import Assembly
from decoder.bench.identity import TIE_MARGIN, Identity, compare
from decoder.bench.tasks import Task
from decoder.bench.truth import prompt_of
from decoder.languages import language_of
from decoder.sampler import Sampler
from decoder.sampling import GREEDY_BELOW
from decoder.speculate import speculate
from decoder.tally import Tally
from decoder.wire.messages import Complete, Draft, Sampling, Speculation
from drafting.corpus import Corpus
from drafting.interface import Array
from drafting.lines import split_lines, to_lf
from drafting.prefix_cache import prefill

PLAIN, UNDRAFTED = "plain", "undrafted"
"""One row a forward pass, the baseline of speed; as many rows as with drafts but none drafted, that of identity."""

MODES: dict[str, Draft] = {
    PLAIN: "none",
    UNDRAFTED: "none",
    "lookup": "lookup",
    "syntax": "syntax",
    "model": "model",
    "auto": "auto",
}


@dataclass(frozen=True, slots=True)
class Run:
    """A mode with its draft length: None leaves it to the drafters."""

    mode: str
    gamma: int | None

    @property
    def name(self) -> str:
        return self.mode if self.gamma is None else f"{self.mode} {self.gamma}"


def runs(modes: Sequence[str], gammas: Sequence[int | None]) -> list[Run]:
    """Every mode with every draft length; those that draft nothing once."""
    return [Run(mode, gamma) for mode in modes for gamma in (gammas if MODES[mode] != "none" else (None,))]


def request_for(run: Run, task: Task) -> Complete:
    """As far as drafters look at it; the prompt is made by the bench."""
    language = language_of(PurePath(task.path))
    return Complete(0, task.path, language, prefix="", suffix="", draft=MODES[run.mode], gamma=run.gamma)


@contextmanager
def opened(corpus: Corpus, task: Task) -> Iterator[None]:
    """What else was open in the editor is in the corpus meanwhile, and no other task's buffers are."""
    for buffer in task.open_buffers:
        corpus.open(buffer.path, split_lines(buffer.text), language=language_of(PurePath(buffer.path)))
    try:
        yield
    finally:
        for buffer in task.open_buffers:
            corpus.close(buffer.path)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One task in one mode. decode_seconds: with the prompt cached.

    identity: against the baseline's text, which is that of `undrafted`, or of `plain` where that did not run; None for
    the baseline itself.
    """

    mode: str
    task: Task
    tokens: tuple[int, ...]
    speculation: Speculation
    decode_seconds: float
    identity: Identity | None


class Bench:
    """The bench protocol: the prompt is cached before timing, the buffers are in the corpus only."""

    def __init__(self, assembly: Assembly, chosen: Sequence[Run], *, max_tokens: int, sampling: Sampling) -> None:
        self._assembly = assembly
        self._target = assembly.target
        self._runs = tuple(chosen)
        modes = [run.mode for run in chosen]
        self._baseline = next((name for name in (UNDRAFTED, PLAIN) if name in modes), None)
        self._max_tokens = max_tokens
        self._sampling = sampling
        self._tuners = {run.mode: assembly.drafters.fresh_tuner() for run in chosen}
        self._is_bitwise = assembly.loaded.exactness.kind == "bitwise"
        tokenizer = assembly.tokenizer
        self.stop_ids = tokenizer.eos_ids | tokenizer.special_ids

    def run(self, tasks: Sequence[Task]) -> Iterator[list[Outcome]]:
        """The outcomes of each task, one per mode."""
        for number, task in enumerate(tasks):
            yield self._task(task, turn=number)

    def _task(self, task: Task, turn: int) -> list[Outcome]:
        prompt = self.prompt(task)
        done: dict[str, tuple[Tally, float]] = {}
        with opened(self._assembly.corpus, task):
            for _ in prefill(self._target, prompt[:-1]):
                pass
            for run in _rotated(self._runs, turn):  # none always runs first
                done[run.name] = self._decode(prompt, run.mode, request_for(run, task), self._max_tokens)
        return [self._outcome(run, task, prompt, done) for run in self._runs]

    def prompt(self, task: Task) -> list[int]:
        """The last tokens of the text before the cursor, as all modes and peers get it."""
        tokenizer = self._assembly.tokenizer
        return prompt_of(tokenizer, tokenizer.encode(to_lf(task.prefix)))

    def _decode(self, prompt: Sequence[int], mode: str, request: Complete, max_tokens: int) -> tuple[Tally, float]:
        sampler, tally = Sampler(self._sampling, self._assembly.rule), Tally()
        drafters = self._assembly.drafters
        gamma = drafters.gamma(request)
        for _ in drafters.prepare(request, prompt):
            pass
        with self._rows_of(mode):
            started = time.perf_counter()
            for step in speculate(
                self._target,
                drafters.make(request, sampler, self._tuners.get(mode)),
                prompt,
                sampler,
                gamma=lambda: gamma,
                max_tokens=max_tokens,
                stop_ids=self.stop_ids,
            ):
                tally.add(step)
                if mode != PLAIN:  # whose passes are of another kind
                    drafters.learn(step)
            return tally, time.perf_counter() - started

    @contextmanager
    def _rows_of(self, mode: str | None) -> Iterator[None]:
        """`plain` evaluates single rows, whatever the engine needs to be exact."""
        model = self._target.model
        before = model.min_rows
        model.min_rows = 1 if mode == PLAIN else before
        try:
            yield
        finally:
            model.min_rows = before

    def _outcome(self, run: Run, task: Task, prompt: list[int], done: dict[str, tuple[Tally, float]]) -> Outcome:
        tally, seconds = done[run.name]
        identity = None
        if self._baseline and run.mode != self._baseline:
            identity = self._compare(run.mode, done[self._baseline][0].tokens, tally.tokens, prompt)
        return Outcome(run.name, task, tuple(tally.tokens), tally.speculation(), seconds, identity)

    def _compare(self, mode: str, expected: list[int], tokens: list[int], prompt: list[int]) -> Identity | None:
        """Token for token where that is promised; sampled texts are compared only there."""
        promised = self._is_bitwise and PLAIN not in (mode, self._baseline)
        is_greedy = self._sampling.temperature < GREEDY_BELOW
        if promised and (is_greedy or self._assembly.rule == "coupled"):
            return "identical" if expected == tokens else "diverged"
        if not is_greedy:
            return None
        return compare(
            expected,
            tokens,
            prompt,
            num_tokens=self._max_tokens,
            next_logits=self._next_logits,
            continue_plain=self._continue_baseline,
            margin=TIE_MARGIN[self._assembly.dtype],
        )

    def _next_logits(self, context: Sequence[int]) -> Array:
        with self._rows_of(self._baseline):
            for _ in prefill(self._target, context[:-1]):
                pass
            logits = self._target.extend(context[-1:], last=1)[-1]
        self._target.rewind(len(context) - 1)
        return logits

    def _continue_baseline(self, context: Sequence[int], num_tokens: int) -> Sequence[int]:
        if num_tokens < 1 or context[-1] in self.stop_ids:
            return ()
        return self._decode(context, self._baseline or PLAIN, _UNDRAFTED_REQUEST, num_tokens)[0].tokens


_UNDRAFTED_REQUEST = Complete(0, document="", language="", prefix="", suffix="", draft="none")


def _rotated(chosen: Sequence[Run], turn: int) -> Sequence[Run]:
    start = turn % len(chosen)
    return (*chosen[start:], *chosen[:start])
