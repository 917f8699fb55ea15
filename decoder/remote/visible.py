"""What may be shown of a text that comes in pieces."""

from drafting.lines import to_lf

_HALVES = range(0xD800, 0xE000)
"""Halves of characters beyond the first 65,536, which JSON can write one by one."""

LOST = "\ufffd"
"""Stands for what was no character: nothing is shown from it on."""


def visible(text: str, *, over: bool) -> str:
    r"""With LF line ends, and up to the first character that has not come whole. over: nothing more comes.

    >>> visible("a\r", over=False), visible("a\r\n", over=False), visible("\ud83d\ude00", over=False)
    ('a', 'a\n', '😀')
    >>> visible("a\ud83d", over=True), visible("a\ufffdb", over=True)
    ('a', 'a')
    """
    if not over and text.endswith("\r"):
        text = text[:-1]
    if any(ord(character) in _HALVES for character in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return to_lf(text.partition(LOST)[0])
