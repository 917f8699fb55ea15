"""Runs every task in every mode, side by side on one model and one KV cache."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from decoder.assemble import Assembly
from decoder.bench.identity import TIE_MARGIN, Identity, compare
from decoder.bench.tasks import Task
from decoder.local_engine import prefill
from decoder.prompt import to_lf
from decoder.sampler import Sampler
from decoder.speculate import speculate
from decoder.tally import Tally
from decoder.wire.messages import Complete, Draft, Sampling, Speculation
from drafting.interface import Array
from drafting.lines import split_lines

PROMPT_TOKENS = 600
MODES: dict[str, Draft] = {"plain": "none", "lookup": "lookup", "model": "model", "auto": "auto"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One task in one mode. decode_seconds: with the prompt cached. identity: against plain, None for plain itself."""

    mode: str
    task: Task
    tokens: tuple[int, ...]
    speculation: Speculation
    decode_seconds: float
    identity: Identity | None


class Bench:
    """The bench protocol: the prompt is cached before timing, the buffers are in the corpus only."""

    def __init__(
        self, assembly: Assembly, modes: Sequence[str], *, max_tokens: int, gamma: int | None, sampling: Sampling
    ) -> None:
        self._assembly = assembly
        self._target = assembly.target
        self._modes = tuple(modes)
        self._max_tokens = max_tokens
        self._gamma = gamma
        self._sampling = sampling
        tokenizer = assembly.tokenizer
        self._stop_ids = tokenizer.eos_ids | tokenizer.special_ids

    def run(self, tasks: Sequence[Task]) -> Iterator[list[Outcome]]:
        """The outcomes of each task, one per mode."""
        for number, task in enumerate(tasks):
            yield self._task(task, turn=number)

    def _task(self, task: Task, turn: int) -> list[Outcome]:
        prompt = self._prompt(task)
        for buffer in task.open_buffers:
            self._assembly.corpus.open(buffer.path, split_lines(buffer.text))
        for _ in prefill(self._target, prompt[:-1]):
            pass
        runs: dict[str, tuple[Tally, float]] = {}
        for mode in _rotated(self._modes, turn):  # no mode always runs first
            runs[mode] = self._decode(prompt, MODES[mode])
        for buffer in task.open_buffers:
            self._assembly.corpus.close(buffer.path)
        return [self._outcome(mode, task, prompt, runs) for mode in self._modes]

    def _prompt(self, task: Task) -> list[int]:
        tokenizer = self._assembly.tokenizer
        tokens = tokenizer.encode(to_lf(task.prefix))[-PROMPT_TOKENS:]
        return [*tokenizer.prompt_prefix, *tokens] or [min(self._stop_ids, default=0)]

    def _decode(self, prompt: Sequence[int], draft: Draft, max_tokens: int | None = None) -> tuple[Tally, float]:
        request = replace(_REQUEST, draft=draft, gamma=self._gamma)
        sampler, tally = Sampler(self._sampling), Tally()
        drafters = self._assembly.drafters
        gamma = drafters.gamma(request)
        started = time.perf_counter()
        for step in speculate(
            self._target,
            drafters.make(request, sampler),
            prompt,
            sampler,
            gamma=lambda: gamma,
            max_tokens=max_tokens or self._max_tokens,
            stop_ids=self._stop_ids,
        ):
            tally.add(step)
        return tally, time.perf_counter() - started

    def _outcome(self, mode: str, task: Task, prompt: list[int], runs: dict[str, tuple[Tally, float]]) -> Outcome:
        tally, seconds = runs[mode]
        identity = None
        if mode != "plain" and "plain" in runs and self._sampling.temperature == 0:
            identity = compare(
                runs["plain"][0].tokens,
                tally.tokens,
                prompt,
                num_tokens=self._max_tokens,
                next_logits=self._next_logits,
                continue_plain=self._continue_plain,
                margin=TIE_MARGIN[self._assembly.dtype],
            )
        return Outcome(mode, task, tuple(tally.tokens), tally.speculation(), seconds, identity)

    def _next_logits(self, context: Sequence[int]) -> Array:
        for _ in prefill(self._target, context[:-1]):
            pass
        logits = self._target.extend(context[-1:], last=1)[-1]
        self._target.rewind(len(context) - 1)
        return logits

    def _continue_plain(self, context: Sequence[int], num_tokens: int) -> Sequence[int]:
        if num_tokens < 1 or context[-1] in self._stop_ids:
            return ()
        return self._decode(context, "none", num_tokens)[0].tokens


_REQUEST = Complete(id=0, document="", language="", prefix="", suffix="")


def _rotated(modes: Sequence[str], turn: int) -> Sequence[str]:
    start = turn % len(modes)
    return (*modes[start:], *modes[:start])
