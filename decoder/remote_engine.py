"""Answers completions with a model on another server: what is prompted, shown and kept is as with a local one."""

import asyncio
import logging
import re
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from decoder.cursor_syntax import in_comment
from decoder.engine import EngineError
from decoder.prompt import Anchor, TextPromptBuilder
from decoder.remote.breaker import Breaker
from decoder.remote.client import MOST_STOPS, Ask, CompletionsClient
from decoder.remote.errors import RemoteError
from decoder.remote.passage import Passage, read_passage
from decoder.remote.piece import Piece
from decoder.remote.writing import Writing
from decoder.stopping import Stopping
from decoder.wire.messages import Answer, Complete, Sampling, Shown, Timings, TokenCounts
from decoder.written import Written
from drafting.syntax import Grammar, Syntax

CANDIDATE_TEMPERATURE = 0.8
"""Other candidates than the first are sampled."""

MOST_CANDIDATES = 3
MAX_DOCUMENTS = 64

_MARKER = re.compile(r"<[|｜].+[|｜]>|<(fim_\w+|file_sep)>")
"""A marker that no text has by chance, as `<PRE>` may stand in a page: a server may end the text at it."""

_Kept = TypeVar("_Kept")
_log = logging.getLogger(__name__)


class RemoteEngine:
    """The `Engine` over one server. It is contacted when a text is wanted, and never before."""

    def __init__(
        self,
        client: CompletionsClient,
        prompts: TextPromptBuilder,
        *,
        sampling: Sampling = Sampling(),
        background_tokens: int = 0,
        saves_power: Callable[[], bool] = lambda: False,
        on_trouble: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """sampling: where a request leaves it open. background_tokens: written ahead after an answer; 0 for none.

        saves_power: whether nothing is to be written ahead just now. on_trouble: is told what is wrong when the
        server is left in peace, and "" when it answers again.
        """
        self.model = client.settings.model
        self.description = f"{client.settings.base_url}, prompt family {prompts.family.name}"
        self._client = client
        self._prompts = prompts
        self._sampling = sampling
        self._background_tokens = background_tokens
        self._saves_power = saves_power
        self._breaker = Breaker(on_trouble)
        self._syntax = Syntax()
        self._anchors: OrderedDict[str, Anchor] = OrderedDict()
        self._writings: OrderedDict[str, Writing] = OrderedDict()
        self._open: set[Writing] = set()
        family = prompts.family
        markers = (*family.before, *family.between, *family.after, family.file)
        self._stops = tuple(marker for marker in markers if _MARKER.fullmatch(marker))[:MOST_STOPS]

    async def complete(self, request: Complete) -> Answer:
        """As `Engine.complete`."""
        if request.max_tokens < 1:
            raise EngineError(f"max_tokens {request.max_tokens} is less than 1")
        grammar = self._syntax.grammar(request.language)
        if reason := _reason_for_silence(request, grammar):
            return self._empty(request, reason)
        return await self._answer(request, Stopping.of(request, grammar))

    async def aclose(self) -> None:
        """As `Engine.aclose`."""
        for writing in self._open:
            writing.close()
        for writing in tuple(self._open):
            await writing.closed()
        await self._client.aclose()

    async def _answer(self, request: Complete, stopping: Stopping) -> Answer:
        asked = time.perf_counter()
        writing, is_new = self._follow(request, stopping)
        others = self._others(request, stopping) if request.trigger == "invoked" else []
        try:
            passage = await self._read(writing, request, stopping, asked)
            shown = stopping.trim(passage.text)
            alternatives = _distinct(shown, [await other for other in others])
        finally:
            for other in others:
                other.cancel()
        return replace(
            self._empty(request, passage.reason(shown)),
            text=shown.text,
            replaces=shown.replaces,
            alternatives=alternatives,
            finish=passage.finish if shown.text else "none",
            timings_ms=_timings(asked, writing.first_at if is_new else asked),
            tokens=_counts(writing) if is_new else TokenCounts(),
        )

    def _empty(self, request: Complete, reason: str) -> Answer:
        return Answer(request.id, language=request.language, model=self.model, reason=reason)

    # Streams

    def _follow(self, request: Complete, stopping: Stopping) -> tuple[Writing, bool]:
        """The stream that has what the request wants or will have it, and whether it is a new one.

        Awaits nothing, so that a request takes over from the one that it supersedes before that one's stream is closed.
        """
        sampling = request.sampling or self._sampling
        writing = self._writings.get(request.document)
        if writing and writing.sampling == sampling and _serves(writing, request, stopping):
            return writing, False
        if writing:
            writing.close()
        return _remember(self._writings, request.document, self._begin(request, self._prompt(request), sampling)), True

    def _prompt(self, request: Complete) -> str:
        prompt = self._prompts.build(request, self._anchors.get(request.document, Anchor()))
        _remember(self._anchors, request.document, prompt.anchor)
        return prompt.text

    def _begin(self, request: Complete, prompt: str, sampling: Sampling) -> Writing:
        """Raises RemoteError where the server is left in peace."""
        is_probe = self._breaker.enter()
        ask = Ask(prompt, request.max_tokens, sampling, self._stops)
        written = Written.after(request, reads_suffix=self._prompts.family.reads_suffix)
        writing = Writing(
            self._pieces(ask), written, sampling, on_over=lambda over: self._over(over, is_probe=is_probe)
        )
        self._open.add(writing)
        return writing

    def _over(self, writing: Writing, *, is_probe: bool) -> None:
        self._open.discard(writing)
        if is_probe:
            self._breaker.abandoned()

    async def _pieces(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        """What the server writes, with the breaker told how it went."""
        try:
            async with aclosing(self._client.completion(ask)) as pieces:
                async for piece in pieces:
                    self._breaker.succeeded()
                    yield piece
        except RemoteError as error:
            told = error.with_outlook()  # the same words as the answer's reason and as the status: shown once
            self._breaker.failed(told)
            raise told from error.__cause__

    async def _read(self, writing: Writing, request: Complete, stopping: Stopping, asked: float) -> Passage:
        """Waits until the text from the cursor on is complete, or is over, or the time is. Raises RemoteError."""
        num_more = 0
        writing.attend()
        try:
            passage = await read_passage(writing, request, stopping, asked)
            num_more = 0 if self._saves_power() else self._background_tokens
            return passage
        finally:
            writing.leave(num_more)

    def _others(self, request: Complete, stopping: Stopping) -> "list[asyncio.Task[Shown]]":
        """Other candidates, each written by a request of its own at the same time."""
        seeds = range(1, min(request.candidates, MOST_CANDIDATES))
        if not seeds:
            return []
        base, prompt = request.sampling or self._sampling, self._prompt(request)
        warm = replace(base, temperature=max(base.temperature, CANDIDATE_TEMPERATURE))
        samplings = [replace(warm, seed=base.seed + seed) for seed in seeds]
        return [asyncio.create_task(self._other(request, prompt, stopping, sampling)) for sampling in samplings]

    async def _other(self, request: Complete, prompt: str, stopping: Stopping, sampling: Sampling) -> Shown:
        """Nothing, where the server cannot: the first candidate tells why."""
        try:
            writing = self._begin(request, prompt, sampling)
            writing.attend()
            try:
                passage = await read_passage(writing, request, stopping, time.perf_counter())
            finally:
                writing.close()
        except RemoteError as error:
            _log.warning("another candidate: %s", error)
            return Shown()
        return stopping.trim(passage.text)


def _serves(writing: Writing, request: Complete, stopping: Stopping) -> bool:
    """Whether what the request wants is written already, or may still come."""
    rest = writing.written.rest(request)
    if rest is None:
        return False
    return not writing.over or writing.written.ended or stopping.end(rest) is not None


def _reason_for_silence(request: Complete, grammar: Grammar | None) -> str:
    if not request.prefix.strip():  # a model without any context writes noise
        return "suppressed:nothing_before"
    if not request.comments and in_comment(request, grammar):
        return "suppressed:comment"
    return "warmed_up" if request.trigger == "warm_up" else ""


def _distinct(first: Shown, others: Sequence[Shown]) -> tuple[Shown, ...]:
    """Those that differ from the first and from each other."""
    return tuple(dict.fromkeys(other for other in others if other.text and other != first))


def _timings(asked: float, first: float) -> Timings:
    """From points in time, in seconds. first: when the first token came, 0 where none did."""
    now = time.perf_counter()
    spans = 0.0, (first or now) - asked, now - (first or now), now - asked
    return Timings(*(round(1000 * seconds, 2) for seconds in spans))


def _counts(writing: Writing) -> TokenCounts:
    """The server's own, where it has told them by now."""
    return writing.usage or TokenCounts(output=writing.num_pieces)


def _remember(kept: OrderedDict[str, _Kept], document: str, value: _Kept) -> _Kept:
    kept[document] = value
    kept.move_to_end(document)
    if len(kept) > MAX_DOCUMENTS:
        kept.popitem(last=False)
    return value
