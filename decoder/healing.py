"""Token healing: a prompt never ends inside a token.

The last token of a prompt's prefix is taken back (`prompt.py`) and the target writes it anew, restricted to tokens that
agree with the characters it stood for. So `self.he` may become `self.height` and eight spaces may become seven and
` return`, as in the texts the model learned from.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace

from decoder.speculate import Step
from decoder.tokenizer import Tokenizer
from drafting.interface import Array
from drafting.prefix_cache import PrefixCache


class Chooser(Protocol):
    """What healing needs of a `Sampler`."""

    def choose(self, logits: Array, position: int) -> int: ...


class TokenHealing:
    """Knows which tokens agree with given bytes; built once for a vocabulary, which takes about 0.1 s."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._size = tokenizer.vocabulary.size
        ordinary = (token for token in range(self._size) if token not in tokenizer.special_ids)
        table = sorted((tokenizer.token_bytes(token), token) for token in ordinary)
        self._bytes = [text for text, _ in table]
        self._ids = np.array([token for _, token in table], dtype=np.int64)

    def write(self, target: PrefixCache, context: list[int], typed: bytes, chooser: Chooser) -> Iterator[Step]:
        """Appends tokens to `context` until they cover `typed`, one forward pass each; the last may go beyond it.

        A full window ends it early.
        """
        while typed and len(context) <= target.model.context_length:
            target.keep(context[:-1])
            logits = target.extend(context[len(target.tokens) :], last=1)
            token = chooser.choose(self._restricted(logits[-1], typed), len(context))
            context.append(token)
            typed = typed[len(self._tokenizer.token_bytes(token)) :]
            yield Step((token,), 0, 0, "none")

    def agreeing(self, typed: bytes) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """Ids of the tokens that begin with `typed`, or that `typed` begins with if other tokens can write the rest."""
        first = bisect_left(self._bytes, typed)
        last = bisect_left(self._bytes, typed + b"\xff" * 8, first)
        lengths = (length for length in range(1, len(typed)) if self._can_write(typed[length:]))
        return np.concatenate([self._ids[first:last], *(self._find(typed[:length]) for length in lengths)])

    def _can_write(self, text: bytes) -> bool:
        """Whether tokens agree with `text` and, where they are shorter, with the rest; not every byte is a token."""
        position = bisect_left(self._bytes, text)
        if position < len(self._bytes) and self._bytes[position].startswith(text):
            return True
        return any(
            len(self._find(text[:length])) > 0 and self._can_write(text[length:]) for length in range(1, len(text))
        )

    def _find(self, text: bytes) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        first = bisect_left(self._bytes, text)
        last = first
        while last < len(self._bytes) and self._bytes[last] == text:
            last += 1
        return self._ids[first:last]

    def _restricted(self, logits: Array, typed: bytes) -> Array:
        """The logits with -inf for every token that does not agree."""
        xp = array_namespace(logits)
        allowed = np.zeros(self._size, dtype=bool)
        allowed[self.agreeing(typed)] = True
        mask = xp.asarray(allowed, device=logits.device)
        return xp.where(mask, logits, xp.full_like(logits, -float("inf")))
