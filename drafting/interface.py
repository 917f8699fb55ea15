"""What a drafter and a language model look like to the rest of draftline: protocols of one or two methods."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

Array = Any
"""A numpy array on CPU engines, a torch tensor on CUDA: code that takes one is written against the array API."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens proposed to follow a context.

    probabilities: for each token the row q [vocabulary] float32 it was drawn from, None for one that was chosen
        deterministically (q is one-hot). None as a whole where that holds for all, or where the rule of acceptance
        needs no rows.
    source: name of the drafter, for statistics.
    bucket: how sure the drafter is; drafts of one source and bucket stand about equally often.
    alike: how much the place it was found at is like the cursor's, see `drafting.likeness`; 0 where that is unknown.
    statement: how many of the tokens still belong to the statement that the draft begins in, None if that is unknown.
    tail: (source, number of tokens) of what another drafter appended.
    """

    tokens: tuple[int, ...] = ()
    source: str = "none"
    probabilities: tuple[Array | None, ...] | None = None
    bucket: int = 0
    alike: int = 0
    statement: int | None = None
    tail: tuple[str, int] = ("", 0)

    def cut(self, gamma: int) -> "Draft":
        """The first `gamma` tokens of it."""
        if gamma >= len(self.tokens):
            return self
        rows = self.probabilities[:gamma] if self.probabilities is not None else None
        own = len(self.tokens) - self.tail[1]
        tail = (self.tail[0], gamma - own) if gamma > own else ("", 0)
        return replace(self, tokens=self.tokens[:gamma], probabilities=rows, tail=tail) if gamma > 0 else Draft()


class Drafter(Protocol):
    """Guesses what the target will write."""

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        """At most `gamma` tokens that may follow `context`; an empty draft where nothing is known."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A drafter that learns from what the target wrote."""

    def finish(self, context: Sequence[int]) -> None:
        """The text ends here."""
        ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Identity of a token alphabet: two models may draft for each other only if `digest` agrees.

    size: number of tokens that mean something; a model's padding rows beyond it are never exposed.
    """

    size: int
    digest: str


class LanguageModel(Protocol):
    """A causal language model with a rewindable KV cache, for one sequence."""

    name: str
    vocabulary: Vocabulary
    context_length: int
    """Most tokens the cache can hold."""
    min_rows: int
    """Fewest rows of a forward pass; fewer tokens are padded, with rows that leave no trace."""
    max_rows: int
    """Most rows of a forward pass; longer runs are cut."""

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        """Appends `tokens` to the cached sequence.

        Returns logits, float32 [n, vocabulary.size]: row i predicts the token after tokens[i]. With `last`, only
        the last `last` rows are computed and returned. If it raises, the cache is unchanged.
        """
        ...

    def rewind(self, length: int) -> None:
        """Forgets everything after the first `length` tokens, in constant time."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """A language model that still holds earlier sequences."""

    def recall(self, tokens: Sequence[int]) -> int:
        """Makes the longest held prefix of `tokens` the current sequence; returns its length."""
        ...

    def forget(self) -> None:
        """Lets go of all sequences."""
        ...
