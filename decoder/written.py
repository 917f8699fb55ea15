"""What a model has written after a place in a document, further than was shown: it answers whoever types along."""

from dataclasses import dataclass

from decoder.blank_line import prompted_prefix
from decoder.wire.messages import SUFFIX_CHARACTERS, Complete
from drafting.lines import to_lf

_HEAD = 240
"""So many characters find the place of a window that begins later in the text."""

_SUFFIX = SUFFIX_CHARACTERS // 2
"""So much of the suffix is compared: what was sent of it ends elsewhere when the cursor has moved on."""

_CLOSERS = ")]}>\"'`"
"""What editors insert by themselves when its opener is typed."""


@dataclass(slots=True)
class Written:
    """Text that continues `prefix`, with LF line ends; it may still grow, until it has `ended`.

    prefix, suffix: what was before and after the cursor. reads_suffix: whether the model has read the suffix, so that
    with another one it might have written something else.
    """

    prefix: str
    suffix: str
    reads_suffix: bool = False
    text: str = ""
    ended: bool = False

    @staticmethod
    def after(request: Complete, *, reads_suffix: bool = False) -> "Written":
        """Nothing yet, at the place of a request."""
        return Written(prompted_prefix(request), to_lf(request.suffix), reads_suffix)

    def offset(self, request: Complete) -> int | None:
        """How much of the text stands before the cursor by now; None where the document went another way."""
        typed = self._typed(prompted_prefix(request))
        if typed is None or not self.text.startswith(typed):
            return None
        if self.reads_suffix and not self._same_suffix(to_lf(request.suffix)):
            return None
        return len(typed)

    def rest(self, request: Complete) -> str | None:
        """The text from the cursor on; None where the document went another way."""
        offset = self.offset(request)
        return None if offset is None else self.text[offset:]

    def _typed(self, prefix: str) -> str | None:
        """What has come after `self.prefix`; the window of `prefix` may begin later in the document by now."""
        if prefix.startswith(self.prefix):
            return prefix[len(self.prefix) :]
        begin = self.prefix.find(prefix[:_HEAD]) if len(prefix) >= _HEAD else -1
        if begin < 0 or not prefix.startswith(self.prefix[begin:]):
            return None
        return prefix[len(self.prefix) - begin :]

    def _same_suffix(self, suffix: str) -> bool:
        """A closer that the editor has inserted makes no difference."""
        begins = (0, 1) if suffix[:1] in tuple(_CLOSERS) else (0,)
        return any(suffix[begin : begin + _SUFFIX] == self.suffix[:_SUFFIX] for begin in begins)
