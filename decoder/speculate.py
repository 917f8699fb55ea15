"""The loop of speculative decoding: draft, verify in one forward pass, accept, yield a step."""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from decoder.accept import Accepted
from drafting.interface import Array, Draft, Drafter, Learning
from drafting.prefix_cache import PrefixCache


class Chooser(Protocol):
    """What the loop needs of a `Sampler`."""

    def accept(self, draft: Draft, logits: Array, position: int) -> Accepted: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass of the target. len(tokens) = num_accepted + 1, or num_accepted where a stop token ended it.

    tail: as `Draft.tail`. milliseconds: of the pass and of choosing its tokens; num_rows: tokens it evaluated.
    """

    tokens: tuple[int, ...]
    num_drafted: int
    num_accepted: int
    source: str
    tail: tuple[str, int] = ("", 0)
    num_rows: int = 1
    milliseconds: float = 0.0

    def shares(self) -> Iterator[tuple[str, int, int]]:
        """(source, draft tokens, accepted ones) of each drafter that had a part in it."""
        appended = self.tail[1]
        own = self.num_drafted - appended
        if own:
            yield self.source, own, min(self.num_accepted, own)
        if appended:
            yield self.tail[0], appended, max(0, self.num_accepted - own)


def speculate(
    target: PrefixCache,
    drafter: Drafter,
    context: Sequence[int],
    chooser: Chooser,
    *,
    gamma: Callable[[], int],
    max_tokens: int,
    stop_ids: Collection[int] = (),
) -> Generator[Step, None, None]:
    """Continues `context` by at most `max_tokens` tokens, as the target alone would: see `decoder.accept`.

    The first token of `stop_ids` ends the text and is its last token. The context window ends it too: a full cache
    stops the loop without an error. Whenever the loop is left, by its end, an error or a `close()`, the target's
    cache holds a prefix of the text, never a rejected token, and a `Learning` drafter is told how the text ended.

    gamma: asked before every step for the largest number of draft tokens. It must not depend on drawn draft tokens.
    Raises ValueError for an empty context or one that does not leave room for a token.
    """
    if not context or len(context) >= target.model.context_length:
        raise ValueError(f"a context of {len(context)} tokens does not fit a window of {target.model.context_length}")
    text = list(context)
    end = min(len(context) + max_tokens, target.model.context_length)
    try:
        while len(text) < end:
            draft = drafter.draft(text, max(0, min(gamma(), end - len(text) - 1)))
            step = _verify(target, draft, text, chooser, stop_ids)
            text.extend(step.tokens)
            yield step
            if step.tokens[-1] in stop_ids:
                return
    finally:
        target.keep(text)
        if isinstance(drafter, Learning):
            drafter.finish(text)


def _verify(target: PrefixCache, draft: Draft, text: list[int], chooser: Chooser, stop_ids: Collection[int]) -> Step:
    target.keep(text[:-1])
    pending = text[len(target.tokens) :]
    started = time.perf_counter()
    logits = target.extend([*pending, *draft.tokens], last=len(draft.tokens) + 1)
    accepted = chooser.accept(draft, logits, len(text))
    milliseconds = 1000 * (time.perf_counter() - started)
    tokens = (*draft.tokens[: accepted.num_accepted], accepted.token)
    for kept, token in enumerate(tokens, start=1):
        if token in stop_ids:
            tokens = tokens[:kept]
            break
    target.rewind(len(text) + len(tokens) - 1)
    return Step(
        tokens,
        len(draft.tokens),
        min(accepted.num_accepted, len(tokens)),
        draft.source,
        draft.tail,
        len(pending) + len(draft.tokens),
        milliseconds,
    )
