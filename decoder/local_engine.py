"""Answers completions with a model in this process: one worker thread, one KV cache kept between keystrokes."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice

from decoder.accept import AcceptanceRule
from decoder.drafters import Drafters
from decoder.engine import EngineError
from decoder.governor import Governor, Ticket
from decoder.healing import TokenHealing
from decoder.learned import Learned
from decoder.prompt import Anchor, Prompt, PromptBuilder, to_lf
from decoder.sampler import Sampler
from decoder.sampling import NonFiniteLogitsError
from decoder.speculate import Step, speculate
from decoder.stopping import Stopping
from decoder.tally import Tally
from decoder.tokenizer import Tokenizer
from decoder.torch_engine.memory import DeviceMemoryError
from decoder.wire.messages import Answer, Complete, Finish, Timings, TokenCounts
from drafting.prefix_cache import PrefixCache, prefill

_MAX_ANCHORS = 256

SAVE_SECONDS = 300.0
"""What drafting has learned is kept so often at most, and at the end."""


class _CancelledError(Exception):
    """The request is no longer wanted; raised on the worker thread between two steps."""


@dataclass(frozen=True, slots=True)
class _Generated:
    """written: whether the model wrote anything to see, also where nothing of it was kept."""

    text: str
    finish: Finish
    tally: Tally
    written: bool


class LocalEngine:
    """The `Engine` over one target model."""

    def __init__(
        self,
        target: PrefixCache,
        tokenizer: Tokenizer,
        drafters: Drafters,
        *,
        prompt_tokens: int,
        rule: AcceptanceRule = "coupled",
        description: str = "",
        governor: Governor | None = None,
        learned: Learned | None = None,
    ) -> None:
        """prompt_tokens: budget of the prompt; the rest of the target's window is for the answer.

        governor: told of the requests' comings and goings; the drafters ask it what the load allows. learned: where
        what drafting learns is kept.
        """
        self.model = target.model.name
        self.description = description
        self._target = target
        self._tokenizer = tokenizer
        self._drafters = drafters
        self._rule = rule
        self._stop_ids = tokenizer.eos_ids | tokenizer.special_ids
        self._prompts = PromptBuilder(
            tokenizer.encode,
            budget=min(prompt_tokens, target.model.context_length - 1),
            start=tokenizer.prompt_prefix,
            lone=min(self._stop_ids, default=0),
        )
        self._healing = TokenHealing(tokenizer)
        self._anchors: OrderedDict[str, Anchor] = OrderedDict()
        self._governor = governor or Governor()
        self._learned = learned
        self._saved = time.monotonic()
        self._saving: asyncio.Task[None] | None = None
        self._closing = threading.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")

    async def complete(self, request: Complete) -> Answer:
        """As `Engine.complete`."""
        self._drafters.check(request.draft)
        _require_sense(request)
        cancelled = threading.Event()
        ticket = self._governor.arrive(time.monotonic())
        job = self._thread.submit(self._serve, request, cancelled, ticket, time.perf_counter())
        work = asyncio.wrap_future(job)
        try:
            answer = await asyncio.shield(work)
        except asyncio.CancelledError:
            if job.cancel():
                self._governor.withdraw(ticket, time.monotonic())
            else:  # it has begun: it ends within one step, or one chunk of the prompt
                cancelled.set()
                await asyncio.wait([work])
            raise
        except _CancelledError as error:  # by `aclose`
            raise asyncio.CancelledError from error
        except (NonFiniteLogitsError, DeviceMemoryError) as error:
            raise EngineError(f"{self.model}: {error}") from error
        finally:
            if work.done() and not work.cancelled():
                work.exception()  # whoever cancelled does not ask for it
        if time.monotonic() - self._saved > SAVE_SECONDS and not self._closing.is_set():
            self._saved = time.monotonic()
            self._saving = asyncio.create_task(self._keep_learned())
        return answer

    async def aclose(self) -> None:
        """As `Engine.aclose`."""
        self._closing.set()
        if self._saving:
            await asyncio.wait([self._saving])
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        if self._learned:
            await asyncio.to_thread(self._learned.save, self.model, self._drafters.tuner.survival.state())

    def _serve(self, request: Complete, cancelled: threading.Event, ticket: Ticket, asked: float) -> Answer:
        """As `_answer`, with the governor told. A request that fails or is given up says nothing of the load."""
        self._governor.start(ticket, time.monotonic())
        leave = self._governor.withdraw
        try:
            answer = self._answer(request, cancelled, asked)
            leave = self._governor.depart
            return answer
        finally:
            leave(ticket, time.monotonic())

    async def _keep_learned(self) -> None:
        """Takes what there is between two requests, and writes the file beside the model's thread."""
        if self._learned:
            state = await asyncio.wrap_future(self._thread.submit(self._drafters.tuner.survival.state))
            await asyncio.to_thread(self._learned.save, self.model, state)

    def _answer(self, request: Complete, cancelled: threading.Event, asked: float) -> Answer:
        """The whole path of a request, on the worker thread."""
        started = time.perf_counter()
        self._stop_if(cancelled)
        request = self._drafters.permitted(request)
        if not request.prefix.strip():  # a model without any context writes noise
            return Answer(request.id, language=request.language, model=self.model, reason="suppressed:nothing_before")
        prompt = self._prompt(request)
        context, typed = self._healing.cut(prompt.tokens)
        num_cached = self._target.resume(context[:-1])
        for _ in chain(prefill(self._target, context[:-1]), self._drafters.prepare(request, context)):
            self._stop_if(cancelled)
        prefilled = time.perf_counter()
        generated = self._generate(request, context, typed, cancelled)
        done = time.perf_counter()
        text = Stopping.of(request).trim(generated.text)
        return Answer(
            id=request.id,
            text=text,
            language=request.language,
            model=self.model,
            finish=generated.finish if text else "none",
            reason="" if text else "nothing_left_after_trim" if generated.written else "model_wrote_nothing",
            timings_ms=Timings(
                queue=_milliseconds(started - asked),
                prefill=_milliseconds(prefilled - started),
                decode=_milliseconds(done - prefilled),
                total=_milliseconds(done - asked),
            ),
            tokens=TokenCounts(len(prompt.tokens), num_cached, len(generated.tally.tokens)),
            speculation=generated.tally.speculation(),
        )

    def _prompt(self, request: Complete) -> Prompt:
        prompt = self._prompts.build(request, self._anchors.get(request.document, Anchor()))
        self._anchors[request.document] = prompt.anchor
        self._anchors.move_to_end(request.document)
        if len(self._anchors) > _MAX_ANCHORS:
            self._anchors.popitem(last=False)
        return prompt

    def _generate(
        self, request: Complete, context: Sequence[int], typed: bytes, cancelled: threading.Event
    ) -> _Generated:
        stopping, tally, text = Stopping.of(request), Tally(), ""
        steps = self._steps(request, list(context), typed)
        try:
            for step in steps:
                self._stop_if(cancelled)
                tally.add(step)
                self._drafters.learn(step)
                text = self._text(tally.tokens, len(typed))
                end = stopping.end(text)
                if end is not None:
                    return _Generated(text[:end], "stop", tally, written=True)
        except NonFiniteLogitsError:
            steps.close()
            self._forget()
            raise
        finally:
            steps.close()
        ended = bool(tally.tokens) and tally.tokens[-1] in self._stop_ids
        return _Generated(text, "stop" if ended else "length", tally, written=bool(text.strip()))

    def _steps(self, request: Complete, text: list[int], typed: bytes) -> Generator[Step, None, None]:
        """First what the person typed, then what the target writes; together at most `max_tokens` tokens."""
        sampler = Sampler(request.sampling, self._rule)
        drafter, gamma = self._drafters.make(request, sampler), self._drafters.gamma(request)
        length = len(text)
        yield from islice(self._healing.write(self._target, text, typed, sampler), request.max_tokens)
        room = request.max_tokens - (len(text) - length)
        if room > 0 and len(text) < self._target.model.context_length:
            yield from speculate(
                self._target,
                drafter,
                text,
                sampler,
                gamma=lambda: gamma,
                max_tokens=room,
                stop_ids=self._stop_ids,
            )

    def _forget(self) -> None:
        """What led to logits without meaning may lie in the caches: nothing may be built upon it."""
        self._target.forget()
        self._drafters.forget()

    def _stop_if(self, cancelled: threading.Event) -> None:
        if cancelled.is_set() or self._closing.is_set():
            raise _CancelledError

    def _text(self, tokens: Sequence[int], num_typed: int) -> str:
        """What a person may see of the tokens: nothing typed before, no stop token, no half character."""
        shown = tokens[:-1] if tokens and tokens[-1] in self._stop_ids else tokens
        return to_lf(self._tokenizer.decode_complete(shown, skip=num_typed))


def _require_sense(request: Complete) -> None:
    """Raises EngineError for lengths that mean nothing, rather than answer with nothing."""
    if request.max_tokens < 1:
        raise EngineError(f"max_tokens {request.max_tokens} is less than 1")
    if request.gamma is not None and request.gamma < 0:
        raise EngineError(f"gamma {request.gamma} is less than 0")


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
