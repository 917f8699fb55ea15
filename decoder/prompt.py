"""From the text around the cursor to the target's prompt tokens, within a budget."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoder.wire.messages import Complete

_ANCHOR_CHARACTERS = 240
_FRESH_SHARE = 0.6
"""A new window fills this share of the budget, so that it need not move again for a while."""

_TOP_LEVEL_LINE = re.compile(r"^(?=[^\s)\]}])", re.MULTILINE)
_LINE_START = re.compile(r"^", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a window began: after so many characters of the text, and with these; empty at the text's own beginning."""

    begin: int = 0
    head: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """tokens: what the target reads. anchor: where its window begins; hand it in again with the next keystroke."""

    tokens: tuple[int, ...]
    anchor: Anchor


class PromptBuilder:
    """Prefix prompting (models without fill-in-the-middle tokens).

    The window's start moves rarely and in big steps, to a line at the left margin where there is one, so that from
    keystroke to keystroke only the end of the prompt changes and the KV cache stays valid.
    """

    def __init__(self, encode: Callable[[str], Sequence[int]], *, budget: int, start: Sequence[int], lone: int) -> None:
        """budget: most tokens of a prompt. start: tokens ahead of every text. lone: stands for an empty prompt."""
        self._encode = encode
        self._budget = budget - len(start)
        self._start = tuple(start)
        self._lone = lone

    def build(self, request: Complete, anchor: Anchor = Anchor()) -> Prompt:
        """The prompt for a request. Cost is bounded by the budget, not by the document."""
        whole = to_lf(request.prefix)
        text = whole[-self._budget * 16 :]
        num_skipped = len(whole) - len(text)
        begin = _find(text, anchor, num_skipped)
        tokens = self._encode(text[begin:]) if begin >= 0 else ()
        if begin < 0 or len(tokens) > self._budget:
            begin, tokens = self._fresh_window(text)
        prompt = (*self._start, *tokens)
        return Prompt(prompt or (self._lone,), _anchor(text, begin, num_skipped))

    def _fresh_window(self, text: str) -> tuple[int, Sequence[int]]:
        begin = max(0, len(text) - self._budget * 4)
        tokens = self._encode(text[begin:])
        if begin == 0 and len(tokens) <= self._budget:
            return 0, tokens
        characters_per_token = (len(text) - begin) / max(1, len(tokens))
        share = _FRESH_SHARE
        while True:
            begin = _cut(text, len(text) - int(share * self._budget * characters_per_token))
            tokens = self._encode(text[begin:])
            if len(tokens) <= self._budget:
                return begin, tokens
            share /= 2


def to_lf(text: str) -> str:
    r"""The text with LF line ends: models are prompted with those whatever the document uses.

    >>> to_lf("a\r\nb\rc")
    'a\nb\nc'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _anchor(text: str, begin: int, num_skipped: int) -> Anchor:
    """What is being typed at the end of a short window is no part of its anchor."""
    if begin + num_skipped == 0:
        return Anchor()
    return Anchor(begin + num_skipped, text[begin : begin + min(_ANCHOR_CHARACTERS, (len(text) - begin) // 2)])


def _find(text: str, anchor: Anchor, num_skipped: int) -> int:
    """Where the anchor stands now, or -1: in its old place, else, if it is long enough to be known by, anywhere."""
    begin = anchor.begin - num_skipped
    if anchor.head and begin >= 0 and text.startswith(anchor.head, begin):
        return begin
    return text.find(anchor.head) if len(anchor.head) == _ANCHOR_CHARACTERS else -1


def _cut(text: str, wanted: int) -> int:
    """The first top-level line from `wanted` on, else the first line, both within half of what is left; else there."""
    wanted = max(0, wanted)
    if wanted == 0:
        return 0
    limit = wanted + (len(text) - wanted) // 2
    for pattern in (_TOP_LEVEL_LINE, _LINE_START):
        found = pattern.search(text, wanted, limit)
        if found and found.start() > wanted:
            return found.start()
    return wanted
