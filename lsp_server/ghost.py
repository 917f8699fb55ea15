"""Ghost text that was answered already: what is left of it once the person has typed along, without asking again."""

from collections import OrderedDict, deque
from dataclasses import dataclass, replace

from decoder.wire.messages import Answer, Complete, Shown
from lsp_server.closers import before_closers, gained_closers

NEARBY = 2_000
"""As many characters before and after the cursor must be as they were; what is further away changes no suggestion."""

PER_DOCUMENT = 4
"""Answers that are kept: one may choose in the editor's list, and come back to what was selected before."""

MAX_DOCUMENTS = 64

_DEEPER = 256
"""By so much more than the text an editor may indent."""


class Ghost:
    """The latest answers of each document; each holds for its document, prefix and suffix alone.

    Two places are the same where the text around them is: no positions, which an import that is added above moves.
    """

    def __init__(self) -> None:
        self._documents: OrderedDict[str, deque[_Remembered]] = OrderedDict()

    def remember(self, request: Complete, answer: Answer) -> None:
        """Keeps what was answered, if there is something to show."""
        if not answer.text.strip():
            return
        answers = self._documents.setdefault(request.document, deque(maxlen=PER_DOCUMENT))
        answers.appendleft(_Remembered.of(request, answer))
        self._documents.move_to_end(request.document)
        if len(self._documents) > MAX_DOCUMENTS:
            self._documents.popitem(last=False)

    def rest(self, request: Complete) -> Answer | None:
        """What is left to show of the newest answer along which the person typed (under its own id); None asks anew.

        An explicit request always asks anew: it wants something else than what can be seen.
        """
        answers = self._documents.get(request.document)
        if answers is None or request.trigger != "automatic":
            return None
        prefix, suffix, want = _with_lf(request.prefix), _near_suffix(request), _want(request)
        for remembered in answers:
            if remembered.want == want and (left := remembered.left(prefix, suffix)):
                first, *others = left
                return replace(remembered.answer, text=first.text, replaces=first.replaces, alternatives=tuple(others))
        return None

    def forget(self, document: str) -> None:
        """Nothing of this document is kept."""
        self._documents.pop(document, None)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """An answer and the text around it; `whole` tells that `prefix` begins where the request's text began."""

    want: tuple[str, ...]
    prefix: str
    whole: bool
    suffix: str
    answer: Answer

    @classmethod
    def of(cls, request: Complete, answer: Answer) -> "_Remembered":
        prefix = _with_lf(request.prefix)
        return cls(_want(request), prefix[-NEARBY:], len(prefix) <= NEARBY, _near_suffix(request), answer)

    def left(self, prefix: str, suffix: str) -> list[Shown]:
        """What there still is to show of each candidate, without those of which nothing is left."""
        candidates = (Shown(self.answer.text, self.answer.replaces), *self.answer.alternatives)
        left = [self._left(candidate, prefix, suffix) for candidate in candidates]
        return list(dict.fromkeys(shown for shown in left if shown.text.strip()))

    def _left(self, candidate: Shown, prefix: str, suffix: str) -> Shown:
        end = len(self.prefix) - candidate.replaces
        typed = self._typed(self.prefix[:end], prefix, len(candidate.text) + _DEEPER)
        if typed is None:
            return Shown()
        rest = _rest(candidate.text, typed, self.prefix[end:])
        closers = gained_closers(self.suffix, suffix, typed, cut=NEARBY)
        if closers is None:
            return Shown()
        return replace(rest, text=before_closers(rest.text, closers)) if closers else rest

    def _typed(self, base: str, prefix: str, at_most: int) -> str | None:
        """What stands between `base` and the cursor now; the most where the text repeats itself."""
        if self.whole:
            return prefix[len(base) :] if prefix.startswith(base) else None
        start = prefix.find(base, max(len(prefix) - len(base) - at_most, 0))
        return None if start < 0 else prefix[start + len(base) :]


def _rest(text: str, typed: str, blanks: str) -> Shown:
    r"""What `typed` leaves of `text`, which was offered in place of `blanks`; an empty text where they diverge.

    After Enter an editor indents by itself: what it put there beyond the text's own indentation is replaced. Blanks
    that a person adds where the text begins are a wish for another depth: they diverge.

    >>> _rest("return x", "ret", ""), _rest("return x", "rest", "")
    (Shown(text='urn x', replaces=0), Shown(text='', replaces=0))
    >>> _rest("\n    return x", "\n        ", ""), _rest("return x", "    ", "")
    (Shown(text='    return x', replaces=8), Shown(text='', replaces=0))
    """
    if text.startswith(typed):
        return Shown(text[len(typed) :])
    if blanks.startswith(typed):
        return Shown(text, replaces=len(typed))
    above, line_end, indent = typed.rpartition("\n")
    if line_end and not indent.strip(" \t") and text.startswith(above + line_end):
        return Shown(text[len(above) + 1 :], replaces=len(indent))
    return Shown()


def _want(request: Complete) -> tuple[str, ...]:
    """What else an answer depends on."""
    return request.language, request.multiline, str(request.comments)


def _near_suffix(request: Complete) -> str:
    return _with_lf(request.suffix[: 2 * NEARBY])[:NEARBY]


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
