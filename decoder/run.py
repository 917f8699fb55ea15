"""One text that the target writes: from its prompt on, for as long as the person follows it."""

import codecs
import io
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Iterator

from decoder.healing import TokenHealing
from decoder.prompt import Prompt
from decoder.sampler import Sampler
from decoder.speculate import Step, speculate
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Complete
from decoder.written import Written
from drafting.interface import Drafter
from drafting.prefix_cache import PrefixCache


class Run:
    """Grows by steps, which may be interrupted at any time and go on later.

    request: that follows it, the first one or a later one. written: its text, and where it belongs.
    tokens: what the model has written after the prompt, stop token included; the first spell `prompt.typed` anew.
    limit: a step may draft up to so many tokens in all.
    """

    def __init__(
        self,
        request: Complete,
        prompt: Prompt,
        written: Written,
        *,
        target: PrefixCache,
        healing: TokenHealing,
        tokenizer: Tokenizer,
        sampler: Sampler,
        drafter: Callable[[Complete], Drafter],
        gamma: int,
        stop_ids: Collection[int],
    ) -> None:
        """drafter: makes one, whenever writing begins or goes on. gamma: most draft tokens a step."""
        self.request = request
        self.prompt = prompt
        self.written = written
        self.tokens: list[int] = []
        self.limit = 0
        self._settings = _settings(request)
        self._target = target
        self._healing = healing
        self._tokenizer = tokenizer
        self._sampler = sampler
        self._drafter = drafter
        self._gamma = gamma
        self._stop_ids = stop_ids
        self._steps: Generator[Step, None, None] | None = None
        self._unspelt = prompt.typed
        self._reader = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
        self._ends: list[int] = []
        """By token: how many characters the text has after it."""

    @property
    def context(self) -> list[int]:
        """All tokens so far, the prompt's and those written."""
        return [*self.prompt.tokens, *self.tokens]

    @property
    def full(self) -> bool:
        """Whether the target's window has no room for another token."""
        return len(self.prompt.tokens) + len(self.tokens) >= self._target.model.context_length

    def offset(self, request: Complete) -> int | None:
        """How much of the text stands before the cursor by now; None where the request is for another text."""
        return None if self.full or _settings(request) != self._settings else self.written.offset(request)

    def step(self) -> Step | None:
        """The next step; None where the text has ended or the window is full. The target must hold the context."""
        if self.written.ended or self.full:
            return None
        if self._steps is None:
            self._steps = self._write()
        step = next(self._steps, None)
        if step is not None:
            self._add(step)
        return step

    def pause(self) -> None:
        """Leaves the target to others; `step` goes on where this stopped, also where a step has failed."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def num_tokens_before(self, offset: int) -> int:
        """How many tokens the text before a place takes."""
        if not offset:
            return 0
        number = bisect_left(self._ends, offset)
        return number + (self._ends[number : number + 1] == [offset])

    def num_prompt_tokens(self, offset: int) -> int:
        """How many tokens the text before the cursor has, which stands at a place in the run's text."""
        return len(self.prompt.tokens) + (self.num_tokens_before(offset) if offset else bool(self.prompt.typed))

    def text_of(self, num_tokens: int) -> str:
        """The text of the first tokens, with LF: nothing typed before, no stop token, no half character."""
        if num_tokens >= len(self.tokens):
            return self.written.text
        return self.written.text[: self._ends[num_tokens - 1]] if num_tokens else ""

    def _add(self, step: Step) -> None:
        for token in step.tokens:
            if token not in self._stop_ids:
                self.written.text += self._read(token)
            self._ends.append(len(self.written.text))
        self.tokens.extend(step.tokens)
        self.written.ended = self.tokens[-1] in self._stop_ids

    def _read(self, token: int) -> str:
        """The characters that a token completes, beyond those typed before."""
        spelt = self._tokenizer.token_bytes(token)
        fresh = spelt[len(self._unspelt) :]
        self._unspelt = self._unspelt[len(spelt) :]
        return self._reader.decode(fresh)

    def _write(self) -> Generator[Step, None, None]:
        """First what the person typed, then what the target writes."""
        drafter, context = self._drafter(self.request), self.context
        yield from self._heal(context)
        if len(context) < self._target.model.context_length:
            yield from speculate(
                self._target,
                drafter,
                context,
                self._sampler,
                gamma=self._most_drafted,
                max_tokens=self._target.model.context_length,
                stop_ids=self._stop_ids,
            )

    def _heal(self, context: list[int]) -> Iterator[Step]:
        return self._healing.write(self._target, context, self._unspelt, self._sampler)

    def _most_drafted(self) -> int:
        return max(0, min(self._gamma, self.limit - len(self.tokens) - 1))


def _settings(request: Complete) -> tuple[object, ...]:
    """What another text may come of."""
    return request.draft, request.gamma, request.sampling
