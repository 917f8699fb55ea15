"""What happens to a request on the model's thread: the text that is written follows the person who types."""

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from decoder.accept import AcceptanceRule
from decoder.cursor_syntax import in_comment
from decoder.drafters import Drafters
from decoder.healing import TokenHealing
from decoder.model_thread import Work
from decoder.passage import Passage, due_time, write_passage
from decoder.prompt import Anchor, Prompt, PromptBuilder
from decoder.run import Run
from decoder.sampler import Sampler
from decoder.sampling import NonFiniteLogitsError
from decoder.shared_target import SharedTarget
from decoder.stopping import Stopping
from decoder.tally import Tally
from decoder.telemetry import OnUnanswered, nobody_told
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Answer, Complete, Sampling, Shown, Timings, TokenCounts
from decoder.written import Written
from drafting.prefix_cache import PrefixCache
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
        on_unanswered: OnUnanswered = nobody_told,
    ) -> None:
        """on_unanswered: is told, on the model's thread, of steps that are in no answer."""
        self._on_unanswered = on_unanswered
        self._target = target
        self._tokenizer = tokenizer
        self._drafters = drafters
        self._prompts = prompts
        self._rule = rule
        self._healing = TokenHealing(tokenizer)
        self._stop_ids = tokenizer.eos_ids | tokenizer.special_ids
        self._shared = SharedTarget(target, drafters)
        self._anchors: OrderedDict[str, Anchor] = OrderedDict()
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def answer(self, request: Complete, asked: float) -> Work[Served]:
        """The whole path of a request. asked: when it arrived, by `time.perf_counter`."""
        with self._recovering():
            if reason := self._reason_for_silence(request):
                return Served(self._empty(request, reason))
            return (yield from self._answer(request, asked))

    def warm_up(self, request: Complete) -> Work[Answer]:
        """Reads what a request to come goes on from; ends early where another one wants the target."""
        with self._recovering():
            run, _ = self._follow(request)
            yield from self._shared.hold(run)
            return self._empty(request, "warmed_up")

    def write_ahead(self, run: Run, end: int, num_tokens: int) -> Work[None]:
        """Goes on behind `end` of a run's text, as if what is before it had been accepted.

        Ends after `num_tokens`, after LINES_AHEAD, or as soon as a request has another use for the target.
        """
        num_steps = 0
        try:
            with self._recovering():
                yield from self._shared.hold(run)
                run.limit = run.num_tokens_before(end) + num_tokens
                while self._shared.is_held_by(run) and len(run.tokens) < run.limit:
                    if run.written.text.count("\n", end) > LINES_AHEAD or (step := run.step()) is None:
                        return
                    num_steps += 1
                    self._drafters.learn(step)
                    yield
        finally:
            if num_steps:
                self._on_unanswered(run.request.language, "ahead", num_steps)

    def _answer(self, request: Complete, asked: float) -> Work[Served]:
        started = time.perf_counter()
        run, offset = self._follow(request)
        _remember(self._runs, request.document, run)
        num_cached = yield from self._shared.hold(run)
        read = time.perf_counter()
        num_prompt = run.num_prompt_tokens(offset)
        stopping, tally, due = Stopping.of(request, self._grammar(request)), Tally(), due_time(request, asked, read)
        try:
            passage = yield from write_passage(run, offset, stopping, self._drafters, tally, due)
        except BaseException:
            self._on_unanswered(request.language, "given_up", tally.speculation().steps)
            raise
        written = time.perf_counter()
        found = [stopping.trim(passage.text)]
        if request.candidates > 1:
            yield from self._find_others(request, asked, run, offset, stopping, found)
        first, *others = [shown for shown in found if shown.text] or [Shown()]
        answer = replace(
            self._empty(request, "" if first.text else _why_empty(passage)),
            text=first.text,
            replaces=first.replaces,
            alternatives=tuple(others),
            finish=passage.finish if first.text else "none",
            timings_ms=_timings(asked, started, read, written),
            tokens=TokenCounts(num_prompt, min(num_cached, num_prompt), len(tally.tokens)),
            speculation=tally.speculation(),
        )
        return Served(answer, run, passage.end)

    @contextmanager
    def _recovering(self) -> Iterator[None]:
        """After a fault the step under way cannot go on. The runs can: they hold what was written before it."""
        try:
            yield
        except NonFiniteLogitsError:  # nothing may be built upon what led there
            self._shared.forget()
            raise
        except Exception:
            self._shared.release()
            raise

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
        run.request = self._drafters.permitted(request)
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

    def _find_others(
        self, request: Complete, asked: float, run: Run, offset: int, stopping: Stopping, found: list[Shown]
    ) -> Work[None]:
        """Adds other candidates to the first: as many as are wanted, turn out to differ, and come in time."""
        prompt = self._prompt(request) if offset else run.prompt
        for number in range(1, TRIES_PER_CANDIDATE * (request.candidates - 1) + 1):
            begun = time.perf_counter()
            if len(found) == request.candidates or (request.deadline_ms and begun > asked + request.deadline_ms / 1000):
                return
            other = self._run(_sampled(run.request, number), prompt)
            yield from self._shared.hold(other)
            due = due_time(request, begun, time.perf_counter())
            passage = yield from write_passage(other, 0, stopping, self._drafters, Tally(), due)
            shown = stopping.trim(passage.text)
            if shown.text and shown not in found:
                found.append(shown)


def _remember(kept: OrderedDict[str, _Kept], document: str, value: _Kept) -> None:
    kept[document] = value
    kept.move_to_end(document)
    if len(kept) > MAX_DOCUMENTS:
        kept.popitem(last=False)


def _sampled(request: Complete, number: int) -> Complete:
    """The request for another candidate than the first."""
    sampling = request.sampling or Sampling()
    temperature = max(sampling.temperature, CANDIDATE_TEMPERATURE)
    seed = (sampling.seed + number) % 2**64
    return replace(request, sampling=replace(sampling, temperature=temperature, seed=seed))


def _why_empty(passage: Passage) -> str:
    return "nothing_left_after_trim" if passage.written else "model_wrote_nothing"


def _timings(asked: float, started: float, read: float, written: float) -> Timings:
    """From points in time, in seconds."""
    spans = started - asked, read - started, written - read, written - asked
    return Timings(*(round(1000 * seconds, 2) for seconds in spans))
