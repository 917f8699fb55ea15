"""The part of a run's text that answers one request."""

import math
import time
from dataclasses import dataclass

from decoder.drafters import Drafters
from decoder.model_thread import Work
from decoder.run import Run
from decoder.stopping import Stopping
from decoder.tally import Tally
from decoder.wire.messages import Complete, Finish


@dataclass(frozen=True, slots=True)
class Passage:
    """Text from the cursor on, up to `end` in the run's. written: whether there was anything to see, be it beyond."""

    text: str
    finish: Finish
    end: int
    written: bool


def write_passage(
    run: Run, offset: int, stopping: Stopping, drafters: Drafters, tally: Tally, due: float
) -> Work[Passage]:
    """Goes on until the text from `offset` on is complete, or as long as was asked for, or the time is over.

    The target must hold the run. due: by `time.perf_counter`, see `due_time`.
    """
    run.limit = run.num_tokens_before(offset) + run.request.max_tokens
    while True:
        text = run.text_of(run.limit)[offset:]
        if (end := stopping.end(text)) is not None:
            return Passage(text[:end], "stop", offset + end, bool(text.strip()))
        if time.perf_counter() > due and (end := stopping.so_far(text)):
            return Passage(text[:end], "deadline", offset + end, written=True)
        step = run.step() if len(run.tokens) < run.limit else None
        if step is None:
            return _unfinished(run, offset, stopping, text)
        tally.add(step)
        drafters.learn(step)
        yield


def due_time(request: Complete, asked: float, read: float) -> float:
    """When the time for one candidate is over; half of it is always for writing, however long the prompt took.

    asked, read: when it was wanted, and when the prompt had been evaluated, by `time.perf_counter`.
    """
    budget = request.deadline_ms / 1000 / max(1, request.candidates)
    return max(asked + budget, read + budget / 2) if budget else math.inf


def _unfinished(run: Run, offset: int, stopping: Stopping, text: str) -> Passage:
    """What goes no further: to its end if the model ended it, else without a half line after whole ones of a block."""
    if run.written.ended and len(run.tokens) <= run.limit:
        return Passage(text, "stop", offset + len(text), bool(text.strip()))
    end = (stopping.so_far(text) if stopping.block else 0) or len(text)
    return Passage(text[:end], "length", offset + end, bool(text.strip()))
