"""What happens to a request on the model's thread: the text that is written follows the person who types."""

import math
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from decoder.accept import AcceptanceRule
from decoder.cursor_syntax import in_comment
from decoder.drafters import Drafters
from decoder.healing import TokenHealing
from decoder.model_thread import Work
from decoder.prompt import Anchor, Prompt, PromptBuilder
from decoder.run import Run
from decoder.sampler import Sampler
from decoder.sampling import NonFiniteLogitsError
from decoder.stopping import Stopping
from decoder.tally import Tally
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Answer, Complete, Finish, Sampling, Shown, Timings, TokenCounts
from decoder.written import Written
from drafting.prefix_cache import PrefixCache, prefill
from drafting.syntax import Grammar

_Kept = TypeVar("_Kept")

MAX_DOCUMENTS = 256

LINES_AHEAD = 5
"""Text that is written ahead of the person goes on for so many whole lines at most."""

CANDIDATE_TEMPERATURE = 0.8
TRIES_PER_CANDIDATE = 2
"""Other candidates than the first are sampled; what turns out the same is tried once more."""


@dataclass(frozen=True, slots=True)
class Served:
    """An answer, and the run that may go on behind it, from `end` of its text."""

    answer: Answer
    run: Run | None = None
    end: int = 0


@dataclass(frozen=True, slots=True)
class _Passage:
    """A part of a run's text, up to `end` in it. written: whether there was anything to see, be it beyond the end."""

    text: str
    finish: Finish
    end: int
    written: bool


class Writer:
    """Owns the target's cache and the runs over it: one for each document, of which the target holds one.

    All methods are generators for the model's thread, which yield after every step and every chunk of a prompt.
    """

    def __init__(
        self,
        target: PrefixCache,
        tokenizer: Tokenizer,
        drafters: Drafters,
        prompts: PromptBuilder,
        *,
        rule: AcceptanceRule = "coupled",
    ) -> None:
        self._target = target
        self._tokenizer = tokenizer
        self._drafters = drafters
        self._prompts = prompts
        self._rule = rule
        self._healing = TokenHealing(tokenizer)
        self._stop_ids = tokenizer.eos_ids | tokenizer.special_ids
        self._anchors: OrderedDict[str, Anchor] = OrderedDict()
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._holder: Run | None = None
        self._num_turns = 0
        """How often the target has been given to another use."""

    def answer(self, request: Complete, asked: float) -> Work[Served]:
        """The whole path of a request. asked: when it arrived, by `time.perf_counter`."""
        try:
            return (yield from self._answer(request, asked))
        except NonFiniteLogitsError:  # nothing may be built upon what led there
            self._forget()
            self._target.forget()
            self._drafters.forget()
            raise
        except Exception:
            self._forget()
            raise

    def warm_up(self, request: Complete) -> Work[Answer]:
        """Reads the prompt of a request to come; ends early where a request wants the target."""
        yield from self._read(self._drafters.permitted(request), self._prompt(request).tokens)
        return Answer(request.id, language=request.language, model=self._target.model.name, reason="warmed_up")

    def write_ahead(self, run: Run, end: int, num_tokens: int) -> Work[None]:
        """Goes on behind `end` of a run's text, as if what is before it had been accepted.

        Ends after `num_tokens`, after LINES_AHEAD, or as soon as a request has another use for the target.
        """
        yield from self._hold(run)
        run.limit = run.num_tokens_before(end) + num_tokens
        while self._holder is run and len(run.tokens) < run.limit:
            if run.written.text.count("\n", end) > LINES_AHEAD or (step := run.step()) is None:
                return
            self._drafters.learn(step)
            yield

    def _answer(self, request: Complete, asked: float) -> Work[Served]:
        started = time.perf_counter()
        if reason := self._reason_for_silence(request):
            return Served(self._empty(request, reason))
        run, offset = self._follow(self._drafters.permitted(request))
        num_cached = yield from self._hold(run)
        read = time.perf_counter()
        num_prompt = run.num_prompt_tokens(offset)
        stopping, tally, due = Stopping.of(request, self._grammar(request)), Tally(), _due(request, asked, read)
        passage = yield from self._write(run, offset, stopping, tally, due)
        written = time.perf_counter()
        shown = stopping.trim(passage.text)
        others = yield from self._others(run, offset, stopping, shown)
        answer = replace(
            self._empty(request, "" if shown.text else _why_empty(passage)),
            text=shown.text,
            replaces=shown.replaces,
            alternatives=others,
            finish=passage.finish if shown.text else "none",
            timings_ms=_timings(asked, started, read, written),
            tokens=TokenCounts(num_prompt, min(num_cached, num_prompt), len(tally.tokens)),
            speculation=tally.speculation(),
        )
        return Served(answer, run, passage.end)

    def _empty(self, request: Complete, reason: str) -> Answer:
        return Answer(request.id, language=request.language, model=self._target.model.name, reason=reason)

    def _reason_for_silence(self, request: Complete) -> str:
        """Why nothing is written at all, or nothing."""
        if not request.prefix.strip():  # a model without any context writes noise
            return "suppressed:nothing_before"
        if not request.comments and in_comment(request, self._grammar(request)):
            return "suppressed:comment"
        return ""

    def _grammar(self, request: Complete) -> Grammar | None:
        return self._drafters.syntax.grammar(request.language)

    # Runs

    def _follow(self, request: Complete) -> tuple[Run, int]:
        """The run that the request goes on with, an old one where the person has typed along it, and the cursor's
        place in its text."""
        run = self._runs.get(request.document)
        offset = run.offset(request) if run else None
        if run is None or offset is None:
            run, offset = self._run(request, self._prompt(request)), 0
            _remember(self._runs, request.document, run)
        run.request = request
        return run, offset

    def _run(self, request: Complete, prompt: Prompt) -> Run:
        sampler = Sampler(request.sampling or Sampling(), self._rule)
        return Run(
            request,
            prompt,
            Written.after(request, reads_suffix=self._prompts.family.reads_suffix),
            target=self._target,
            healing=self._healing,
            tokenizer=self._tokenizer,
            sampler=sampler,
            drafter=lambda request: self._drafters.make(request, sampler),
            gamma=self._drafters.gamma(request),
            stop_ids=self._stop_ids,
        )

    def _prompt(self, request: Complete) -> Prompt:
        prompt = self._prompts.build(request, self._anchors.get(request.document, Anchor()))
        _remember(self._anchors, request.document, prompt.anchor)
        return prompt

    # The target

    def _hold(self, run: Run) -> Work[int]:
        """Makes the target hold a run's context but for its last token; returns how much of it was there."""
        if self._holder is run:
            return len(run.context)
        num_cached, turn = yield from self._read(run.request, run.context)
        if turn == self._num_turns:
            self._holder = run
        return num_cached

    def _read(self, request: Complete, context: Sequence[int]) -> Work[tuple[int, int]]:
        """Evaluates a context but for its last token, unless a more urgent use of the target comes between.

        Returns how much of it was there already, and which turn at the target this was.
        """
        self._pause()
        turn = self._num_turns
        num_cached = self._target.resume(context[:-1])
        for _ in chain(prefill(self._target, context[:-1]), self._drafters.prepare(request, context)):
            yield
            if self._num_turns != turn:
                break
        return num_cached, turn

    def _pause(self) -> None:
        """The target gets another use."""
        self._num_turns += 1
        if self._holder:
            self._holder.pause()
            self._holder = None

    def _forget(self) -> None:
        """After a fault: steps that were begun cannot go on."""
        self._pause()
        self._runs.clear()

    def _write(self, run: Run, offset: int, stopping: Stopping, tally: Tally, due: float) -> Work[_Passage]:
        """Goes on until the text from `offset` on is complete, or as long as was asked for, or the time is over."""
        run.limit = run.num_tokens_before(offset) + run.request.max_tokens
        while True:
            text = run.text_of(run.limit)[offset:]
            if (end := stopping.end(text)) is not None:
                return _Passage(text[:end], "stop", offset + end, bool(text.strip()))
            if time.perf_counter() > due and (end := stopping.so_far(text)):
                return _Passage(text[:end], "deadline", offset + end, written=True)
            step = run.step() if len(run.tokens) < run.limit else None
            if step is None:
                ended = run.written.ended and len(run.tokens) <= run.limit
                return _Passage(text, "stop" if ended else "length", offset + len(text), bool(text.strip()))
            tally.add(step)
            self._drafters.learn(step)
            yield

    def _others(self, run: Run, offset: int, stopping: Stopping, first: Shown) -> Work[tuple[Shown, ...]]:
        """Other candidates than the first, where the request wants several: as many as turn out to differ."""
        request, found = run.request, [first]
        if request.candidates < 2 or offset:
            return ()
        for number in range(1, TRIES_PER_CANDIDATE * (request.candidates - 1) + 1):
            other = self._run(_sampled(request, number), run.prompt)
            yield from self._hold(other)
            due = _due(request, time.perf_counter(), 0.0)
            passage = yield from self._write(other, 0, stopping, Tally(), due)
            shown = stopping.trim(passage.text)
            if shown.text and shown not in found:
                found.append(shown)
            if len(found) == request.candidates:
                break
        return tuple(found[1:])


def _remember(kept: OrderedDict[str, _Kept], document: str, value: _Kept) -> None:
    kept[document] = value
    kept.move_to_end(document)
    if len(kept) > MAX_DOCUMENTS:
        kept.popitem(last=False)


def _sampled(request: Complete, number: int) -> Complete:
    """The request for another candidate than the first."""
    sampling = request.sampling or Sampling()
    temperature = max(sampling.temperature, CANDIDATE_TEMPERATURE)
    return replace(request, sampling=replace(sampling, temperature=temperature, seed=sampling.seed + number))


def _due(request: Complete, asked: float, read: float) -> float:
    """When the time budget is over; half of it is always for writing, however long the prompt took."""
    budget = request.deadline_ms / 1000
    return max(asked + budget, read + budget / 2) if budget else math.inf


def _why_empty(passage: _Passage) -> str:
    return "nothing_left_after_trim" if passage.written else "model_wrote_nothing"


def _timings(asked: float, started: float, read: float, written: float) -> Timings:
    """From points in time, in seconds."""
    spans = started - asked, read - started, written - read, written - asked
    return Timings(*(round(1000 * seconds, 2) for seconds in spans))
