"""Feeds a `Corpus` from one background thread, so that tokenising never delays a request."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from drafting.corpus import Corpus

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Edit:
    """`lines` replace `num_removed` lines from line `first` on."""

    first: int
    num_removed: int
    lines: tuple[str, ...]

    def then(self, later: "_Edit") -> "_Edit | None":
        r"""Both in one; None where lines stay between them, which neither knows.

        >>> _Edit(4, 1, ("a\n", "b\n")).then(_Edit(5, 1, ("bc\n",)))
        _Edit(first=4, num_removed=1, lines=('a\n', 'bc\n'))
        """
        start = later.first - self.first
        stop = start + later.num_removed
        if start > len(self.lines) or stop < 0:
            return None
        return _Edit(
            min(self.first, later.first),
            self.num_removed + max(0, -start) + max(0, stop - len(self.lines)),
            self.lines[: max(0, start)] + later.lines + self.lines[stop:],
        )


@dataclass(slots=True)
class _Waiting:
    """An edit that the thread has not begun: it may still grow."""

    edit: _Edit


class IndexingThread:
    """A `BufferIndex` that hands its work to a thread of its own, in order.

    What is typed while an edit of the same place still waits becomes part of that edit: to parse a large file can take
    longer than to press the next key.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="indexing")
        self._waiting: dict[str, _Waiting] = {}
        self._lock = threading.Lock()

    def open(self, document: str, lines: Sequence[str], *, language: str = "plaintext") -> None:
        """As `Corpus.open`, soon."""
        self._begin(document)
        self._submit(lambda: self._open(document, lines, language))

    def edit(self, document: str, first: int, num_removed: int, lines: Sequence[str]) -> None:
        """As `Corpus.edit`, soon."""
        edit = _Edit(first, num_removed, tuple(lines))
        with self._lock:
            waiting = self._waiting.get(document)
            if waiting is not None and (joined := waiting.edit.then(edit)) is not None:
                waiting.edit = joined
                return
            self._waiting[document] = waiting = _Waiting(edit)
        self._submit(lambda: self._edit(document, waiting))

    def skip(self, document: str, reason: str) -> None:
        """As `Corpus.skip`, soon."""
        self._begin(document)
        self._submit(lambda: self._corpus.skip(document, reason))

    def close(self, document: str) -> None:
        """As `Corpus.close`, soon."""
        self._begin(document)
        self._submit(lambda: self._corpus.close(document))

    def wait(self) -> None:
        """Returns when everything submitted so far is indexed."""
        self._thread.submit(lambda: None).result()

    def stop(self) -> None:
        """Drops what is not indexed yet and ends the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _begin(self, document: str) -> None:
        """What comes now is no part of an edit that waits."""
        with self._lock:
            self._waiting.pop(document, None)

    def _open(self, document: str, lines: Sequence[str], language: str) -> None:
        self._corpus.open(document, lines, language=language)
        if reason := self._corpus.skipped.get(document):
            _log.info("a buffer is not drafted from: %s", reason)

    def _edit(self, document: str, waiting: _Waiting) -> None:
        with self._lock:
            if self._waiting.get(document) is waiting:
                del self._waiting[document]
        self._corpus.edit(document, waiting.edit.first, waiting.edit.num_removed, waiting.edit.lines)

    def _submit(self, work: Callable[[], None]) -> None:
        def logged() -> None:
            try:
                work()
            except Exception:  # an index that misses a buffer costs speed, never text
                _log.exception("a buffer could not be indexed")

        self._thread.submit(logged)
