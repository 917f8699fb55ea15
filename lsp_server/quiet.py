"""When nothing is suggested, though it could be: each rule is a reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from decoder.wire.messages import Complete, TextEdit
from lsp_server.keystroke import keystroke
from lsp_server.settings import Settings

DISABLED = "suppressed:disabled"
LANGUAGE = "suppressed:language"
EXCLUDED = "suppressed:excluded"
INSIDE_WORD = "suppressed:inside_word"
AFTER_DELETION = "suppressed:after_deletion"

_FEW_DELETIONS = 2
"""So many in a row put a slip right; who deletes more wants something else there."""

_HYPHENATED = frozenset({"css", "scss", "less", "sass", "stylus", "clojure", "lisp", "elisp", "scheme", "racket"})
"""Languages in which a hyphen between letters is a part of the word."""


def switched_off(settings: Settings, language: str) -> str:
    """The reason for which this language gets nothing, not even on request; "" where it does."""
    if settings.want(language):
        return ""
    return LANGUAGE if settings.enabled else DISABLED


class Quiet:
    """When a person would be disturbed, which an explicit request never does."""

    def __init__(self) -> None:
        self._deletions: dict[str, _Deletions] = {}

    def edited(self, document: str, edits: Sequence[TextEdit]) -> None:
        """The latest edits of the document."""
        before = self._deletions.pop(document, None)
        if keystroke(edits) == "deletion":
            place = edits[0].start_line, edits[0].start_column
            self._deletions[document] = _Deletions(place, before.number + 1 if before else 1)

    def reason(self, request: Complete, place: tuple[int, int]) -> str:
        """Why nothing is to be shown at `place` (line, column); "" where nothing is against it."""
        if request.trigger == "invoked":
            return ""
        if _is_inside_word(request):
            return INSIDE_WORD
        deletions = self._deletions.get(request.document)
        if deletions and deletions.place == place and deletions.number <= _FEW_DELETIONS:
            return AFTER_DELETION
        return ""

    def forget(self, document: str) -> None:
        """It has been closed."""
        self._deletions.pop(document, None)


@dataclass(frozen=True, slots=True)
class _Deletions:
    """So many in a row, the last of which left the cursor at `place`."""

    place: tuple[int, int]
    number: int


def _is_inside_word(request: Complete) -> bool:
    if request.language in _HYPHENATED and request.suffix[:1] == "-":
        return _is_word(request.prefix[-1:]) and _is_word(request.suffix[1:2])
    return _is_word(request.suffix[:1])


def _is_word(character: str) -> bool:
    """A letter, a digit, or what may follow them in a name, such as an accent of its own."""
    return character != "" and f"a{character}".isidentifier()
