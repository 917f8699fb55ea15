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
class Prompt:
    """tokens: what the target reads. anchor: how the window begins; hand it in again with the next keystroke."""

    tokens: tuple[int, ...]
    anchor: str


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

    def build(self, request: Complete, anchor: str = "") -> Prompt:
        """The prompt for a request. Cost is bounded by the budget, not by the document."""
        text = to_lf(request.prefix)[-self._budget * 16 :]
        begin = text.find(anchor) if anchor else -1
        tokens = self._encode(text[begin:]) if begin >= 0 else ()
        if begin < 0 or len(tokens) > self._budget:
            begin, tokens = self._fresh_window(text)
        prompt = (*self._start, *tokens)
        return Prompt(prompt or (self._lone,), text[begin : begin + _ANCHOR_CHARACTERS])

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
