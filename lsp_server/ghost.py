"""Ghost text that was answered already: what is left of it once the person has typed along, without asking again."""

from collections import OrderedDict, deque
from dataclasses import dataclass, replace

from decoder.wire.messages import Answer, Complete, Shown
from drafting.lines import to_lf
from lsp_server.closers import before_closers, gained_closers

NEARBY = 2_000
"""As many characters before and after the cursor must be as they were; further above, lines may have been added."""

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
        prefix, suffix, want = to_lf(request.prefix), to_lf(request.suffix), _want(request)
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
    """An answer and the text around it, as far as the request carried it."""

    want: tuple[str, ...]
    prefix: str
    suffix: str
    answer: Answer

    @classmethod
    def of(cls, request: Complete, answer: Answer) -> "_Remembered":
        return cls(_want(request), to_lf(request.prefix), to_lf(request.suffix), answer)

    def left(self, prefix: str, suffix: str) -> list[Shown]:
        """What there still is to show of each candidate, without those of which nothing is left."""
        candidates = (Shown(self.answer.text, self.answer.replaces), *self.answer.alternatives)
        left = [self._left(candidate, prefix, suffix) for candidate in candidates]
        return list(dict.fromkeys(shown for shown in left if shown.text.strip()))

    def _left(self, candidate: Shown, prefix: str, suffix: str) -> Shown:
        end = len(self.prefix) - candidate.replaces
        typed = self._typed(end, prefix, at_most=len(candidate.text) + _DEEPER)
        if typed is None:
            return Shown()
        rest = _rest(candidate.text, typed, self.prefix[end:])
        closers = gained_closers(self.suffix[:NEARBY], suffix[:NEARBY], typed, cut=NEARBY)
        if closers is None or not _agree(self.suffix, suffix[len(closers) :]):
            return Shown()
        return replace(rest, text=before_closers(rest.text, closers)) if closers else rest

    def _typed(self, end: int, prefix: str, *, at_most: int) -> str | None:
        """What stands between the first `end` characters and the cursor now.

        Where the text no longer begins as it did, that is the most where it repeats itself.
        """
        if prefix.startswith(self.prefix[:end]):
            return prefix[end:]
        far = max(len(self.prefix) - NEARBY, 0)
        above, near = self.prefix[:far], self.prefix[far:end]
        start = prefix.find(near, max(len(prefix) - len(near) - at_most, 0)) if above else -1
        return prefix[start + len(near) :] if start >= 0 and _is_above(above, prefix[:start]) else None


def _is_above(old: str, new: str) -> bool:
    r"""Whether two texts that end at the same place agree as far as both reach, but for lines that `new` has gained.

    An editor adds an import while a name is typed; a name that was changed far above may be one that is suggested.

    >>> [_is_above("a\nb\n", new) for new in ("b\n", "import c\na\nb\n", "a\nc\n", "")]
    [True, True, False, True]
    """
    if old.endswith(new) or new.endswith(old):
        return True
    olds, news = old.split("\n"), new.split("\n")
    num_gained = len(news) - len(olds)
    first = next((number for number, (one, other) in enumerate(zip(olds, news, strict=False)) if one != other), 0)
    return num_gained > 0 and olds[first:] == news[first + num_gained :]


def _agree(one: str, other: str) -> bool:
    """Whether two texts that begin at the same place are the same as far as both reach."""
    return one.startswith(other) or other.startswith(one)


def _rest(text: str, typed: str, blanks: str) -> Shown:
    r"""What `typed` leaves of `text`, which was offered in place of `blanks`; an empty text where they diverge.

    After Enter an editor indents by itself: what it put there beyond the text's own indentation is replaced. Blanks
    that a person adds where the text begins are a wish for another depth: they diverge.

    >>> _rest("return x", "ret", ""), _rest("return x", "rest", "")
    (Shown(text='urn x', replaces=0), Shown(text='', replaces=0))
    >>> _rest("\n    return x", "\n        ", ""), _rest("return x", "    ", "")
    (Shown(text='    return x', replaces=8), Shown(text='', replaces=0))
    >>> _rest("\n\n    return x", "\n    ", "")  # what does not begin with the blanks is no ghost text in VS Code
    Shown(text='\n    return x', replaces=0)
    """
    if text.startswith(typed):
        return Shown(text[len(typed) :])
    if blanks.startswith(typed):
        return Shown(text, replaces=len(typed))
    above, line_end, indent = typed.rpartition("\n")
    if line_end and not indent.strip(" \t") and text.startswith(above + line_end):
        left = text[len(above) + 1 :]
        return Shown(left, replaces=0 if left.startswith("\n") else len(indent))
    return Shown()


def _want(request: Complete) -> tuple[str, ...]:
    """What else an answer depends on."""
    return request.language, request.multiline, str(request.comments), str(request.max_tokens)
