"""Encodes what is to follow the text being written so that it fits the tokens written so far."""

from collections.abc import Callable, Sequence

MAX_KEPT = 16_384
"""Texts whose tokens are kept; beyond it all are forgotten, which costs some drafts about 10 us each."""


class Seam:
    """A tokenizer in the midst of a text. One for a process: it remembers what it has encoded."""

    def __init__(self, encode: Callable[[str], Sequence[int]], token_bytes: Callable[[int], bytes]) -> None:
        self._encode = encode
        self._token_bytes = token_bytes
        self._kept: dict[str, tuple[int, ...]] = {}

    def before(self, context: Sequence[int], num_bytes: int) -> "tuple[str, tuple[int, ...]]":
        """The last tokens of a text, at least one, that cover its last `num_bytes`: what they spell, and they.

        An empty text where they begin inside a character.
        """
        spelt = b""
        start = len(context)
        while start > 0 and (not spelt or len(spelt) < num_bytes):
            start -= 1
            spelt = self._token_bytes(context[start]) + spelt
        try:
            return spelt.decode(), tuple(context[start:])
        except UnicodeDecodeError:
            return "", ()

    def after(self, before: "tuple[str, tuple[int, ...]]", text: str) -> tuple[int, ...]:
        """The tokens that write `text` behind `before`; none where the tokenizer would not have written `before` so.

        A model writes the tokens that its tokenizer makes: had it been about to write `self.height`, whose `.height` is
        one token, `self.he` would not stand there.
        """
        spelt, tokens = before
        whole = self.encode(spelt + text)
        return whole[len(tokens) :] if whole[: len(tokens)] == tokens else ()

    def encode(self, text: str) -> tuple[int, ...]:
        """The tokens of a text on its own."""
        kept = self._kept.get(text)
        if kept is None:
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            kept = self._kept[text] = tuple(self._encode(text))
        return kept
