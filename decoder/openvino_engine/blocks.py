"""Which blocks of the KV memory hold which tokens: one current sequence, and what earlier ones have left.

Pure bookkeeping, without any arrays. A block holds the keys and values of BLOCK tokens. Blocks of earlier sequences
are found again by their content, so that two prompts with a common beginning share it (Kwon et al. 2023,
arXiv:2309.06180, section 4.4); the least recently used go first when room is needed.
"""

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from drafting.prefix_cache import common_prefix

BLOCK = 32
_Key = bytes


class PagedSequence:
    """The current sequence and its block table."""

    def __init__(self, num_blocks: int) -> None:
        self.tokens: list[int] = []
        """Those whose keys and values are held."""
        self.table: list[int] = []
        """Blocks of the sequence in order; maybe more than it fills at the moment."""
        self._prompt_length = 0
        self._num_blocks = num_blocks
        self._free = list(range(num_blocks - 1, -1, -1))
        self._found: dict[_Key, int] = {}
        """Sealed blocks by content: those will not be written to any more."""
        self._sealed: dict[int, _Key] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()
        """Sealed blocks outside the table, the least recently used first."""

    def recall(self, tokens: Sequence[int]) -> int:
        """Makes the longest held prefix of `tokens` the current sequence and returns its length.

        The prompt so far stays findable, in whole blocks; not what was written behind it, which the next keystroke
        rejects more often than not, and which would push other documents out.
        """
        common = common_prefix(self.tokens, tokens)
        if common < len(self.tokens):
            self._seal()
        found = self._chain(tokens)
        if len(found) * BLOCK > common:
            self._release(0)
            for block in found:
                self._idle.pop(block, None)
            self.table = found
            self.tokens = list(tokens[: len(found) * BLOCK])
        else:
            self.rewind(common)
        self._prompt_length = len(tokens)
        return len(self.tokens)

    def rewind(self, length: int) -> None:
        """Forgets the tokens from `length` on, in constant time; their blocks are kept for what comes instead."""
        del self.tokens[length:]

    def forget(self) -> None:
        """Lets go of all sequences."""
        self.rewind(0)
        self._release(0)
        self._free.extend(self._idle)
        for known in (self._idle, self._sealed, self._found):
            known.clear()

    def reserve(self, length: int) -> list[tuple[int, int]]:
        """Makes room for positions up to `length`, all of them after the present tokens writable.

        Returns copies to make first: (from block, to block). Raises MemoryError where there are too few blocks, and
        changes nothing then.
        """
        if length > self._num_blocks * BLOCK:
            raise MemoryError(f"{length} tokens do not fit into {self._num_blocks} blocks of {BLOCK}")
        first = len(self.tokens) // BLOCK
        copies = []
        if first < len(self.table) and self.table[first] in self._sealed:
            shared = self.table[first]
            self._release(first)
            self.table.append(self._take())
            if len(self.tokens) % BLOCK:
                copies = [(shared, self.table[first])]
        else:
            self._release(first + 1, only_sealed=True)
        while len(self.table) * BLOCK < length:
            self.table.append(self._take())
        return copies

    def _release(self, start: int, *, only_sealed: bool = False) -> None:
        """Takes the table's blocks from `start` on out of it, or just those from the first sealed one on."""
        if only_sealed:
            start = next((i for i in range(start, len(self.table)) if self.table[i] in self._sealed), len(self.table))
        for block in reversed(self.table[start:]):  # so that a sequence loses its end before its beginning
            if block in self._sealed:
                self._idle[block] = None
                self._idle.move_to_end(block)
            else:
                self._free.append(block)
        del self.table[start:]

    def _seal(self) -> None:
        for block, key in zip(self.table, _keys(self.tokens[: self._prompt_length]), strict=False):
            if block not in self._sealed and key not in self._found:
                self._sealed[block] = key
                self._found[key] = block

    def _chain(self, tokens: Sequence[int]) -> list[int]:
        chain = []
        for key in _keys(tokens):
            if key not in self._found:
                break
            chain.append(self._found[key])
        return chain

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        block, _ = self._idle.popitem(last=False)
        del self._found[self._sealed.pop(block)]
        return block


def _keys(tokens: Sequence[int]) -> Iterator[_Key]:
    """One for each whole block, which stands for everything up to its end."""
    key = b""
    for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
        key = hashlib.blake2b(array("q", tokens[start : start + BLOCK]).tobytes(), key=key, digest_size=16).digest()
        yield key
