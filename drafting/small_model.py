"""Drafts with a smaller language model of the same vocabulary."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from drafting.interface import Array, Draft, LanguageModel
from drafting.prefix_cache import PrefixCache, prefill

Pick = Callable[[Array, int], tuple[int, Array | None]]
"""(logits [vocabulary], position) -> the drafter's token, and the probabilities [vocabulary] it was drawn from, or
None where the rule of acceptance needs none. Hides temperature, top-k, top-p and the source of randomness."""


Receive = Callable[[Array], Array]
"""A row that a token was drawn from, to where the target's rows are."""


@runtime_checkable
class Receiving(Protocol):
    """A target whose draft model may compute on another device."""

    def receive(self, row: Array) -> Array:
        """`row` [vocabulary] beside the target's own logits; may be under way still, for whoever waits for those."""
        ...


def keep_in_place(row: Array) -> Array:
    """The row itself: both models compute on one device."""
    return row


class VocabularyMismatchError(Exception):
    """Two models that do not share a vocabulary cannot draft for each other."""


class SmallModelDrafter:
    """Autoregressive drafting (Leviathan et al. 2023, arXiv:2211.17192).

    The draft model's cache follows the context by itself: after a rejection it rewinds to the common prefix, and
    after a pause it catches up, so its guesses are the same whether or not it was asked all the time. `catch_up` does
    that beforehand, a pass at a time.
    """

    source = "model"

    def __init__(self, cache: PrefixCache, pick: Pick, receive: Receive = keep_in_place) -> None:
        """receive: asked for each row that `pick` returns, before the next pass: a transfer then runs beside it."""
        self._cache = cache
        self._pick = pick
        self._receive = receive

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        """As `Drafter.draft`; empty where the context does not leave room in the draft model's window."""
        gamma = min(gamma, self._cache.model.context_length - len(context))
        if gamma < 1 or not context:
            return Draft()
        self._cache.keep(context[:-1])
        pending = list(context[len(self._cache.tokens) :])
        tokens: list[int] = []
        rows: list[Array | None] = []
        for step in range(gamma):
            logits = self._cache.extend(pending, last=1)
            token, row = self._pick(logits[-1], len(context) + step)
            tokens.append(token)
            rows.append(row if row is None else self._receive(row))
            pending = [token]
        drawn = tuple(row for row in rows if row is not None)
        return Draft(tuple(tokens), self.source, drawn if len(drawn) == len(tokens) else None)


def catch_up(cache: PrefixCache, context: Sequence[int]) -> Iterator[int]:
    """Brings a draft model to where it can draft for `context`, from the longest prefix that it holds of any sequence.

    Once for each request: a forward pass at a time, so that whoever iterates may stop. Yields how many tokens are done;
    nothing where the context does not leave room in the draft model's window.
    """
    if 0 < len(context) < cache.model.context_length:
        cache.resume(context[:-1])
        yield from prefill(cache, context[:-1])


def require_same_vocabulary(target: LanguageModel, draft: LanguageModel) -> None:
    """Raises VocabularyMismatchError, naming both models, unless their tokens mean the same."""
    if target.vocabulary != draft.vocabulary:
        raise VocabularyMismatchError(
            f"{draft.name} ({draft.vocabulary.size} tokens) cannot draft for {target.name}"
            f" ({target.vocabulary.size} tokens): their vocabularies differ; choose a draft model of the same family"
        )
