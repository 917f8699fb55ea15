"""Does a token's row of logits depend on the forward pass that it comes in? Asked of any engine, by trying.

Matrix products of few, some and many rows are made by different kernels, which add up in different orders. Between
some fewest and most rows all agree to the last bit; with passes of such sizes only, drafts cannot change a text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from drafting.interface import Array, LanguageModel

FEWEST_ROWS = (1, 2, 4, 8)
MOST_ROWS = (256, 128, 64, 32)
PROBE = 4
"""Changes whenever a result of an older probe could be wrong."""
FIXED_ROWS = 16
"""The one size that is tried where smaller passes give other bits."""

_TAIL = 16
_HEAD = MOST_ROWS[0]
# How the last tokens of a text are cut into passes, each pass ending at one of these: all sizes, many places.
_CUTS: tuple[tuple[int, ...], ...] = (
    tuple(range(1, _TAIL + 1)),
    (1, 16),
    (3, 8, 12, 16),
    (2, 13, 16),
    (6, 16),
    (7, 16),
    (12, 16),
    (14, 16),
)
_UNEVEN = (17, 42, 75, 128, 191)
"""Where the text before is cut: its last pass, and a longer prompt's, may have any size."""


@dataclass(frozen=True, slots=True)
class Exactness:
    """What speculation may promise on an engine.

    bitwise: a token's logits are the same bits wherever it stands, if every pass has `min_rows` to `max_rows` rows.
    near-ties: they differ in the last bits, so where two tokens are as good as equal, drafting may change which one is
    written.
    """

    kind: Literal["bitwise", "near-ties"]
    min_rows: int
    max_rows: int

    def __str__(self) -> str:
        """For people.

        >>> str(Exactness("bitwise", 8, 256))
        'exact: bitwise, 8 to 256 rows a pass'
        """
        if self.kind == "near-ties":
            return "exact: near-ties"
        if self.min_rows == self.max_rows:
            return f"exact: bitwise, {self.min_rows} rows a pass"
        return f"exact: bitwise, {self.min_rows} to {self.max_rows} rows a pass"

    def apply(self, model: LanguageModel) -> None:
        """Makes the model keep to the sizes that were found."""
        model.min_rows, model.max_rows = self.min_rows, self.max_rows


def probe_exactness(model: LanguageModel) -> Exactness:
    """Finds the widest range of pass sizes, with some fifty short passes, and makes the model keep to it.

    Tried in turn: passes of few rows and up, then of exactly `FIXED_ROWS`. Where neither is bitwise the settings stay
    as they were. The cache is empty afterwards.
    """
    before = Exactness("near-ties", model.min_rows, model.max_rows)
    found = _found(model) or before
    found.apply(model)
    model.rewind(0)
    return found


def _found(model: LanguageModel) -> Exactness | None:
    length = min(_HEAD + _TAIL, model.context_length)
    text = [int(token) for token in np.random.default_rng(0).integers(0, model.vocabulary.size, length)]
    head, tail = text[:-_TAIL], text[-_TAIL:]
    for fewest in FEWEST_ROWS:
        model.min_rows, model.max_rows = fewest, MOST_ROWS[-1]
        if expected := _agreed(model, head, tail):
            most = next((rows for rows in MOST_ROWS if _same_in_chunks(model, head, tail, rows, expected)), None)
            if most:
                return Exactness("bitwise", fewest, most)
    model.min_rows = model.max_rows = FIXED_ROWS
    return Exactness("bitwise", FIXED_ROWS, FIXED_ROWS) if _agreed(model, head, tail) else None


def _agreed(model: LanguageModel, head: Sequence[int], tail: Sequence[int]) -> list[Array]:
    """The rows of `tail` if they are the same in one pass as in several; nothing if they are not."""
    model.rewind(0)
    model.extend(head, last=0)
    expected = list(model.extend(tail))
    for cut in _CUTS:
        model.rewind(len(head))
        if not _equal(expected, _rows(model, tail, cut)):
            return []
    return expected


def _rows(model: LanguageModel, tail: Sequence[int], ends: Sequence[int]) -> Iterator[Array]:
    for start, end in pairwise((0, *ends)):
        yield from model.extend(tail[start:end])


def _same_in_chunks(
    model: LanguageModel, head: Sequence[int], tail: Sequence[int], rows: int, expected: Sequence[Array]
) -> bool:
    """Whether the keys and values of `head` are the same in passes of up to so many rows; it must fill one to tell."""
    if rows > len(head):
        return False
    model.max_rows = rows
    for cuts in ((), _UNEVEN):
        model.rewind(0)
        for start, end in pairwise((0, *(cut for cut in cuts if cut < len(head)), len(head))):
            model.extend(head[start:end], last=0)
        if not _equal(expected, iter(model.extend(tail))):
            return False
    return True


def _equal(expected: Sequence[Array], rows: Iterator[Array]) -> bool:
    return all(bool((row == next(rows)).all()) for row in expected)
