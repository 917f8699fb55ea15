"""When and where the decoder should read ahead: an opened document, and a place far from the last one."""

from lsp_server.documents import Document

FAR_LINES = 40
"""A cursor that moved further reads another part of the prompt."""

MIN_SECONDS = 1.0
"""Between two warm-ups of a window, which opens many documents when it starts."""

FIRST_CHARACTERS = 8_000
"""As much of an opened document is read: where the cursor will be is not known, but all places above share this."""


class WarmUp:
    """Where each document was last worked on, and when a warm-up was last due."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._due_at = float("-inf")

    def at(self, uri: str, line: int) -> bool:
        """Work is on this line now; whether that is far from where it was, or the first."""
        last = self._lines.pop(uri, None)
        self._lines[uri] = line
        return last is None or abs(line - last) > FAR_LINES

    def due(self, now: float) -> bool:
        """Whether there may be another (it then counts as begun); `now` in seconds."""
        if now - self._due_at < MIN_SECONDS:
            return False
        self._due_at = now
        return True

    @property
    def latest(self) -> tuple[str, int] | None:
        """The document that was worked on last, if it is open, and the line."""
        return next(reversed(self._lines.items()), None)

    def forget(self, uri: str) -> None:
        """It has been closed."""
        self._lines.pop(uri, None)


def opening_place(document: Document) -> tuple[int, int]:
    """The start of the last line that begins within the first `FIRST_CHARACTERS`."""
    size = 0
    for number, line in enumerate(document.lines):
        size += len(line)
        if size > FIRST_CHARACTERS:
            return number, 0
    return len(document.lines) - 1, 0
