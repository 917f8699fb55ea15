"""A language model together with the tokens in its KV cache, so that what is known is never evaluated twice."""

from collections.abc import Iterator, Sequence

from drafting.interface import Array, LanguageModel, Recalling


class PrefixCache:
    """Follows one sequence after another on one model, keeping what they have in common."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._tokens: list[int] = []

    @property
    def tokens(self) -> Sequence[int]:
        """The tokens whose keys and values the model holds. Read only."""
        return self._tokens

    @property
    def room(self) -> int:
        """How many tokens still fit."""
        return self.model.context_length - len(self._tokens)

    def keep(self, tokens: Sequence[int]) -> int:
        """Rewinds to the longest common prefix with `tokens` and returns its length."""
        length = common_prefix(self._tokens, tokens)
        self.rewind(length)
        return length

    def resume(self, tokens: Sequence[int]) -> int:
        """As `keep`, but what an earlier sequence had in common with `tokens` counts as well, if the model holds it."""
        if not isinstance(self.model, Recalling):
            return self.keep(tokens)
        length = self.model.recall(tokens)
        self._tokens = list(tokens[:length])
        return length

    def forget(self) -> None:
        """Empties the cache, of earlier sequences as well."""
        self.rewind(0)
        if isinstance(self.model, Recalling):
            self.model.forget()

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        """As `LanguageModel.extend`."""
        logits = self.model.extend(tokens, last=last)
        self._tokens.extend(tokens)
        return logits

    def rewind(self, length: int) -> None:
        """As `LanguageModel.rewind`."""
        if length < len(self._tokens):
            self.model.rewind(length)
            del self._tokens[length:]


def prefill(cache: PrefixCache, tokens: Sequence[int]) -> Iterator[int]:
    """Evaluates what of `tokens` is not in the cache yet, a forward pass at a time; yields how many are done."""
    done = cache.keep(tokens)
    while done < len(tokens):
        chunk = tokens[done : done + cache.model.max_rows]
        cache.extend(chunk, last=0)
        done += len(chunk)
        yield done


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix, by bisection over slices compared in C.

    >>> common_prefix([1, 2, 3, 4], [1, 2, 9, 4])
    2
    """
    left, right = tuple(left), tuple(right)  # slices of unlike kinds are never equal
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
