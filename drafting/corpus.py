"""The open buffers as token sequences, one for each run of lines, kept up to date by edits."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from drafting.ngram_index import NgramIndex

RUN_LINES = 32
MAX_RUN_CHARACTERS = 8_000
MAX_BUFFER_CHARACTERS = 1_000_000
"""A longer buffer is not indexed: it is hardly written by hand, and would crowd out the others."""

MAX_CORPUS_TOKENS = 200_000
"""Beyond this the least recently edited buffers are left out, to bound the memory of the index."""


@dataclass(frozen=True, slots=True)
class _Run:
    num_lines: int
    num_characters: int
    lines: tuple[str, ...]
    number: int


class Corpus:
    """What is written in the open buffers, for lookup drafting.

    An edit tokenises again only the runs of lines it touches. Edits come from an indexing thread, searches from the
    model's thread: both may call at any time.
    """

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        self._encode = encode
        self._index = NgramIndex()
        self._runs: dict[str, list[_Run]] = {}
        self._lock = threading.Lock()

    @property
    def num_tokens(self) -> int:
        """Tokens indexed at present."""
        return self._index.num_tokens

    def open(self, document: str, lines: Sequence[str]) -> None:
        """Takes in a whole document (again). One over MAX_BUFFER_CHARACTERS is known, but not indexed."""
        self.close(document)
        self._runs[document] = []
        self._splice(document, 0, 0, lines)

    def edit(self, document: str, first: int, num_removed: int, lines: Sequence[str]) -> None:
        """`lines` have replaced `num_removed` lines from line `first` on."""
        runs = self._runs.get(document)
        if runs is None:
            return
        start, run_line = _run_at(runs, first)
        stop = min(_run_at(runs, first + max(num_removed, 1) - 1)[0] + 1, len(runs))
        touched = [line for run in runs[start:stop] for line in run.lines]
        touched[first - run_line : first - run_line + num_removed] = lines
        if stop < len(runs) and len(touched) < RUN_LINES // 4:  # small leftovers join their neighbour
            touched.extend(runs[stop].lines)
            stop += 1
        self._splice(document, start, stop, touched)

    def close(self, document: str) -> None:
        """Forgets a document."""
        runs = self._runs.pop(document, [])
        with self._lock:
            self._forget(runs)

    def run_at(self, document: str, line: int) -> int | None:
        """Number of the sequence that holds a line of a document, to be left out of a search."""
        runs = list(self._runs.get(document, ()))
        if not runs:
            return None
        return runs[min(_run_at(runs, line)[0], len(runs) - 1)].number

    def candidates(
        self, pair: tuple[int, int], limit: int, *, excluded: int | None = None
    ) -> Iterator[tuple[int, Sequence[int], int]]:
        """As `NgramIndex.candidates`, most recently edited run first."""
        with self._lock:
            return iter(list(self._index.candidates(pair, limit, excluded=excluded)))

    def _splice(self, document: str, start: int, stop: int, lines: Sequence[str]) -> None:
        """Replaces runs[start:stop] by runs of `lines`; the encoding happens outside the lock."""
        runs = self._runs[document]
        num_characters = sum(run.num_characters for run in [*runs[:start], *runs[stop:]]) + sum(map(len, lines))
        if num_characters > MAX_BUFFER_CHARACTERS:
            self.close(document)
            return
        pieces = [("".join(piece), piece) for piece in _pieces(lines)]
        try:
            encoded = [self._encode(text[:MAX_RUN_CHARACTERS]) for text, _ in pieces]
        except Exception:
            self.close(document)  # rather nothing than text that no longer exists
            raise
        with self._lock:
            self._forget(runs[start:stop])
            runs[start:stop] = [
                _Run(len(piece), len(text), piece, self._index.add(tokens))
                for (text, piece), tokens in zip(pieces, encoded, strict=True)
            ]
        self._runs[document] = self._runs.pop(document)  # now the most recently edited one
        while self.num_tokens > MAX_CORPUS_TOKENS and len(self._runs) > 1:
            self.close(next(iter(self._runs)))

    def _forget(self, runs: Sequence[_Run]) -> None:
        for run in runs:
            self._index.remove(run.number)


def _run_at(runs: Sequence[_Run], line: int) -> tuple[int, int]:
    """Index of the run that holds `line` (the last one for a line past the end), and the run's first line."""
    first = 0
    for index, run in enumerate(runs):
        if line < first + run.num_lines or index == len(runs) - 1:
            return index, first
        first += run.num_lines
    return 0, 0


def _pieces(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Runs of about equal length, none with many more than RUN_LINES lines or MAX_RUN_CHARACTERS characters.

    What a longer line holds beyond MAX_RUN_CHARACTERS is not indexed.
    """
    # Up to half as long again stays whole, so that a line typed into a full run does not leave a run of one line.
    target = len(lines) if len(lines) <= RUN_LINES * 3 // 2 else RUN_LINES
    piece: list[str] = []
    size = 0
    for line in lines:
        if piece and (len(piece) >= target or size + len(line) > MAX_RUN_CHARACTERS):
            yield tuple(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield tuple(piece)
