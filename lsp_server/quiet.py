"""When nothing is suggested, though it could be: each rule is a reason."""

from decoder.wire.messages import Complete
from lsp_server.keystroke import Keystroke
from lsp_server.settings import Settings

DISABLED = "suppressed:disabled"
LANGUAGE = "suppressed:language"
EXCLUDED = "suppressed:excluded"
INSIDE_WORD = "suppressed:inside_word"
AFTER_DELETION = "suppressed:after_deletion"

_FEW_DELETIONS = 2
"""So many in a row put a slip right; who deletes more wants something else there."""


def switched_off(settings: Settings, language: str) -> str:
    """The reason for which this language gets nothing, not even on request; "" where it does."""
    if settings.want(language):
        return ""
    return LANGUAGE if settings.enabled else DISABLED


class Quiet:
    """When a person would be disturbed, which an explicit request never does."""

    def __init__(self) -> None:
        self._num_deletions: dict[str, int] = {}

    def edited(self, document: str, key: Keystroke | None) -> None:
        """`key` made the latest edit of the document; None: something else than one key."""
        self._num_deletions[document] = self._num_deletions.get(document, 0) + 1 if key == "deletion" else 0

    def reason(self, request: Complete) -> str:
        """Why nothing is to be shown; "" where nothing is against it."""
        if request.trigger == "invoked":
            return ""
        if _is_word(request.suffix[:1]):
            return INSIDE_WORD
        if 0 < self._num_deletions.get(request.document, 0) <= _FEW_DELETIONS:
            return AFTER_DELETION
        return ""

    def forget(self, document: str) -> None:
        """It has been closed."""
        self._num_deletions.pop(document, None)


def _is_word(character: str) -> bool:
    return character == "_" or character.isalnum()
