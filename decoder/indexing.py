"""Feeds a `Corpus` from one background thread, so that tokenising never delays a request."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from drafting.corpus import Corpus

_log = logging.getLogger(__name__)


class IndexingThread:
    """A `BufferIndex` that hands its work to a thread of its own, in order."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="indexing")

    def open(self, document: str, lines: Sequence[str], *, language: str = "plaintext") -> None:
        """As `Corpus.open`, soon."""
        self._submit(lambda: self._open(document, lines, language))

    def edit(self, document: str, first: int, num_removed: int, lines: Sequence[str]) -> None:
        """As `Corpus.edit`, soon."""
        self._submit(lambda: self._corpus.edit(document, first, num_removed, lines))

    def skip(self, document: str, reason: str) -> None:
        """As `Corpus.skip`, soon."""
        self._submit(lambda: self._corpus.skip(document, reason))

    def close(self, document: str) -> None:
        """As `Corpus.close`, soon."""
        self._submit(lambda: self._corpus.close(document))

    def wait(self) -> None:
        """Returns when everything submitted so far is indexed."""
        self._thread.submit(lambda: None).result()

    def stop(self) -> None:
        """Drops what is not indexed yet and ends the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _open(self, document: str, lines: Sequence[str], language: str) -> None:
        self._corpus.open(document, lines, language=language)
        if reason := self._corpus.skipped.get(document):
            _log.info("a buffer is not drafted from: %s", reason)

    def _submit(self, work: Callable[[], None]) -> None:
        def logged() -> None:
            try:
                work()
            except Exception:  # an index that misses a buffer costs speed, never text
                _log.exception("a buffer could not be indexed")

        self._thread.submit(logged)
