"""Decoding end to end with real passes of both models. Weights are random, so a script says what is accepted."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.gpu_check.clock import synchronize
from benchmarks.gpu_check.findings import Finding
from benchmarks.gpu_check.steps import random_tokens
from decoder.torch_model import TorchModel
from drafting.interface import Array
from drafting.prefix_cache import PrefixCache
from drafting.small_model import SmallModelDrafter

_PROMPT = 300


@dataclass(frozen=True, slots=True)
class Script:
    """How many draft tokens stand: the first with one probability, each further one with another."""

    name: str
    source: str
    gamma: int
    first: float
    further: float

    def accepted(self, rng: np.random.Generator) -> int:
        """Of `gamma` draft tokens."""
        draws = rng.random(self.gamma) < np.array([self.first] + [self.further] * (self.gamma - 1))
        return int(draws.cumprod().sum())


PLAIN = Script("plain", "one row a step", 0, 0.0, 0.0)
LOOKUP = Script("lookup", "acceptance scripted: edit traces, .65 and then .94, a match at every step", 15, 0.65, 0.94)
_PAPER = "acceptance scripted: .75 (Leviathan et al. 2023, table 2, T5 in translation)"
MODEL = Script("draft model", _PAPER, 5, 0.75, 0.75)


def end_to_end(target: TorchModel, draft: TorchModel, device: torch.device, num_tokens: int) -> Iterator[Finding]:
    """Tokens a second with each script, the prompt cached."""
    rows = target.min_rows
    speeds = {}
    for script in (PLAIN, LOOKUP, MODEL):
        target.min_rows = 1 if script is PLAIN else rows  # plain is the fastest honest way without drafts
        speeds[script.name], steps = _run(script, target, draft, device, num_tokens)
        gain = f"{speeds[script.name] / speeds['plain']:.2f} times plain, {num_tokens / steps:.2f} tokens a step"
        yield Finding(f"decoding, {script.name}", speeds[script.name], "tokens/s", f"{gain}; {script.source}")
    target.min_rows = rows


def _run(
    script: Script, target: TorchModel, draft: TorchModel, device: torch.device, num_tokens: int
) -> tuple[float, int]:
    """Tokens a second, and steps taken, of a second run: the first records the graphs."""
    for _ in range(2):
        rng = np.random.default_rng(1)
        held, small = PrefixCache(target), SmallModelDrafter(PrefixCache(draft), _greedy)
        target.rewind(0)
        draft.rewind(0)
        text = random_tokens(target.vocabulary.size, _PROMPT)
        held.extend(text[:-1], last=0)
        small.draft(text, 1)
        synchronize(device)
        started, steps = time.perf_counter(), 0
        while len(text) < _PROMPT + num_tokens:
            drafted = small.draft(text, script.gamma).tokens if script is MODEL else text[1 : 1 + script.gamma]
            _step(held, text, drafted, script.accepted(rng))
            steps += 1
        synchronize(device)
        elapsed = time.perf_counter() - started
    return (len(text) - _PROMPT) / elapsed, steps


def _step(held: PrefixCache, text: list[int], drafted: Sequence[int], num_accepted: int) -> None:
    """As the real loop: one pass, the target's own choices read back, what was not accepted taken back."""
    choices = choose(held.extend([text[-1], *drafted]))
    text.extend([*drafted[:num_accepted], choices[num_accepted]])
    held.rewind(len(text) - 1)


def choose(logits: Array) -> list[int]:
    """The most likely token of each row, read back to the host."""
    return [int(token) for token in logits.argmax(-1).tolist()]


def _greedy(logits: Array, _position: int) -> tuple[int, None]:
    return int(logits.argmax(-1)), None
