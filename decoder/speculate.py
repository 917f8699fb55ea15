"""The loop of speculative decoding: draft, verify in one forward pass, accept, yield a step."""

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from decoder.accept import Accepted
from drafting.interface import Array, Draft, Drafter
from drafting.prefix_cache import PrefixCache


class Chooser(Protocol):
    """What the loop needs of a `Sampler`."""

    def accept(self, draft: Draft, logits: Array, position: int) -> Accepted: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass of the target. len(tokens) = num_accepted + 1, or num_accepted where a stop token ended it."""

    tokens: tuple[int, ...]
    num_drafted: int
    num_accepted: int
    source: str


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
    cache holds a prefix of the text, never a rejected token.

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


def _verify(target: PrefixCache, draft: Draft, text: list[int], chooser: Chooser, stop_ids: Collection[int]) -> Step:
    target.keep(text[:-1])
    pending = text[len(target.tokens) :]
    logits = target.extend([*pending, *draft.tokens], last=len(draft.tokens) + 1)
    accepted = chooser.accept(draft, logits, len(text))
    tokens = (*draft.tokens[: accepted.num_accepted], accepted.token)
    for kept, token in enumerate(tokens, start=1):
        if token in stop_ids:
            tokens = tokens[:kept]
            break
    target.rewind(len(text) + len(tokens) - 1)
    return Step(tokens, len(draft.tokens), min(accepted.num_accepted, len(tokens)), draft.source)
