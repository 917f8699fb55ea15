"""From the text around the cursor to what the target reads, within a budget.

Typing changes only the end of a prompt, so that the KV cache stays valid: quotes from other documents come first and
stay as they were chosen, and the window of the prefix moves rarely and in big steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeVar

from decoder.blank_line import prompted_prefix
from decoder.neighbours import Neighbours, Quotes
from decoder.prompt_families import Marker, Parts, PromptFamily
from decoder.tokenizer import Tokenizer
from decoder.window import Window
from decoder.wire.messages import Complete
from drafting.lines import to_lf

_FIRST_SUFFIX_SHARE, _LAST_SUFFIX_SHARE = 0.25, 0.125
"""Of the budget, for the suffix ahead of the prefix, and behind it, where it is read again with every key."""

_CHARACTERS_PER_TOKEN, _MOST_CHARACTERS_PER_TOKEN = 3, 8

_Unit = TypeVar("_Unit")


@dataclass(frozen=True, slots=True)
class Anchor:
    """What stays from key to key: where the window began, and what was quoted ahead of it."""

    begin: int = 0
    head: str = ""
    quotes: Quotes = field(default_factory=Quotes)


@dataclass(frozen=True, slots=True)
class Prompt:
    """tokens: what the target has read when it begins to write. typed: bytes that its first tokens must spell anew.

    anchor: hand it in again with the next keystroke.
    """

    tokens: tuple[int, ...]
    typed: bytes
    anchor: Anchor


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """The same for a server whose tokenizer is not known: nothing is to be spelt anew."""

    text: str
    anchor: Anchor


class PromptBuilder:
    """Builds prompts of tokens. Text that looks like a marker stays text, as the tokenizer encodes it as such.

    A prompt never ends inside a token: the last one of the prefix is taken back, for the target to write anew.
    """

    def __init__(
        self, tokenizer: Tokenizer, *, budget: int, family: PromptFamily, neighbours: Neighbours | None = None
    ) -> None:
        """budget: most tokens of a prompt, the one that is taken back included. neighbours: None quotes nothing."""
        self.family = family
        self._tokenizer = tokenizer
        self._start = tokenizer.prompt_prefix
        self._lone = min(tokenizer.eos_ids | tokenizer.special_ids, default=0)
        room = budget - len(self._start)
        self._layout = _Layout(tokenizer.encode, self._marker, str, room, _CHARACTERS_PER_TOKEN, family, neighbours)

    def build(self, request: Complete, anchor: Anchor = Anchor()) -> Prompt:
        """The prompt for a request. Cost is bounded by the budget, not by the document."""
        laid = self._layout.lay_out(request, anchor)
        ahead = (*self._start, *laid.ahead)
        if not laid.window or len(ahead) + len(laid.window) < 2:
            return Prompt((*ahead, *laid.window, *laid.behind) or (self._lone,), b"", laid.anchor)
        typed = self._tokenizer.token_bytes(laid.window[-1])
        return Prompt((*ahead, *laid.window[:-1], *laid.behind), typed, laid.anchor)

    def _marker(self, text: str) -> tuple[int, ...]:
        token = self._tokenizer.token_id(text)
        assert token is not None, f"{self.family.name} was chosen for another tokenizer: {text}"
        return (token,)


class TextPromptBuilder:
    """Builds prompts of text. What looks like a marker is broken up by a blank: a server would take it for one."""

    def __init__(self, *, characters: int, family: PromptFamily, neighbours: Neighbours | None = None) -> None:
        """characters: most of a prompt. neighbours: None quotes nothing."""
        self.family = family
        self._layout = _Layout(_same, _same, family.ordinary, characters, 1, family, neighbours)

    def build(self, request: Complete, anchor: Anchor = Anchor()) -> TextPrompt:
        """As `PromptBuilder.build`."""
        laid = self._layout.lay_out(request, anchor)
        return TextPrompt("".join((*laid.ahead, *laid.window, *laid.behind)), laid.anchor)


@dataclass(frozen=True, slots=True)
class _LaidOut(Generic[_Unit]):
    ahead: Sequence[_Unit]
    window: Sequence[_Unit]
    behind: Sequence[_Unit]
    anchor: Anchor


class _Layout(Generic[_Unit]):
    """Shares a budget out between quotes, prefix and suffix; a unit is a token, or a character."""

    def __init__(
        self,
        encode: Callable[[str], Sequence[_Unit]],
        marker: Callable[[str], Sequence[_Unit]],
        ordinary: Callable[[str], str],
        budget: int,
        characters_per_unit: int,
        family: PromptFamily,
        neighbours: Neighbours | None,
    ) -> None:
        self._encode = encode
        self._marker = marker
        self._ordinary = ordinary
        self._budget = budget
        self._characters_per_unit = characters_per_unit
        self._family = family
        self._neighbours = neighbours
        self._around = lru_cache(maxsize=16)(self._spell_around)
        self._suffix = lru_cache(maxsize=16)(self._cut_suffix)
        room = max(0, budget - sum(map(len, self._around(Quotes(), "", ""))))
        self._suffix_budget = int(room * (_FIRST_SUFFIX_SHARE if family.suffix_first else _LAST_SUFFIX_SHARE))

    def lay_out(self, request: Complete, anchor: Anchor) -> _LaidOut[_Unit]:
        """Keeps to the anchor while its window fits; quotes are chosen anew with the window, and where they must."""
        before = self._ordinary(prompted_prefix(request))
        after = self._ordinary(to_lf(request.suffix))
        suffix = self._suffix(after) if self._family.reads_suffix else ""
        held = self._hold(anchor.quotes, request, len(before))
        quotes = anchor.quotes if held else self._quotes(request, before, after)
        ahead, behind, room = self._room(quotes, request.language, suffix)
        window = Window.kept(before, anchor.begin, anchor.head, self._encode, room)
        if window is None:
            quotes = self._quotes(request, before, after) if held else quotes
            ahead, behind, room = self._room(quotes, request.language, suffix)
            window = Window.fresh(before, self._encode, room)
        return _LaidOut(ahead, window.units, behind, Anchor(window.begin, window.head, quotes))

    def _room(self, quotes: Quotes, language: str, suffix: str) -> tuple[Sequence[_Unit], Sequence[_Unit], int]:
        """What stands ahead of the window and behind it, and how much the window may hold."""
        ahead, behind = self._around(quotes, language, suffix)
        return ahead, behind, max(0, self._budget - len(ahead) - len(behind))

    def _hold(self, quotes: Quotes, request: Complete, length: int) -> bool:
        if self._neighbours is None:
            return not quotes.passages
        return self._neighbours.still_holds(quotes, request.document, length)

    def _quotes(self, request: Complete, before: str, after: str) -> Quotes:
        """Quotes that stay within their share with all that is around them."""
        if self._neighbours is None:
            return Quotes()
        share = int(self._budget * self._neighbours.share)
        bare = len(self._around(Quotes(), request.language, "")[0])
        characters = share * self._characters_per_unit
        while True:
            quotes = self._neighbours.choose(request, before, after, characters)
            if not quotes.passages or len(self._around(quotes, request.language, "")[0]) - bare <= share:
                return quotes
            characters = characters * 2 // 3

    def _spell_around(self, quotes: Quotes, language: str, suffix: str) -> tuple[Sequence[_Unit], Sequence[_Unit]]:
        ahead, behind = self._family.around(quotes, language, suffix)
        return self._spell(ahead), self._spell(behind)

    def _spell(self, parts: Parts) -> Sequence[_Unit]:
        return [
            unit
            for part in parts
            for unit in (self._marker(part.text) if isinstance(part, Marker) else self._encode(self._ordinary(part)))
        ]

    def _cut_suffix(self, text: str) -> str:
        """Whole lines where the first one fits, else as much of it as fits."""
        if len(text) > self._suffix_budget * _MOST_CHARACTERS_PER_TOKEN:
            text = _whole_lines(text[: self._suffix_budget * _MOST_CHARACTERS_PER_TOKEN])
        while (size := len(self._encode(text))) > self._suffix_budget:
            text = _whole_lines(text[: len(text) * self._suffix_budget // size])
        return text


def _whole_lines(text: str) -> str:
    return text[: text.rfind("\n") + 1] or text


def _same(text: str) -> str:
    return text
