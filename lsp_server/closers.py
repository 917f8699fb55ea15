"""Brackets and quotes that an editor closes by itself: how much of a suggestion is then left to write."""

import re

_OPENERS = {")": "(", "]": "[", "}": "{", '"': '"', "'": "'", "`": "`"}
_GAINED = re.compile(r"""(?:(?:\n[ \t]*)?[)\]}"'`]){1,8}""")
_LINE_END = re.compile(r"\n[ \t]*(?=[)\]}])")
_PIECE = re.compile(
    r"""
    "(?:\\.|[^"\\\n])*"  # a string of one line is one piece, whatever brackets are in it
    | (?:(?<=[&<])'[a-z]\w*|'static)\b(?!')  # a lifetime is no string
    | '(?:\\.|[^'\\\n])*'
    | .""",
    re.VERBOSE | re.DOTALL,
)


def gained_closers(old: str, new: str, typed: str, *, cut: int) -> str | None:
    r"""What an editor put after the cursor as it closed what was `typed`: `new` is `old` behind it.

    "" where both are the same; None where they differ in another way. Only closers of what is open in `typed` count,
    and a line end, which Enter between two brackets leaves before them or before a closer that stood there. Both texts
    were cut at `cut` characters.

    >>> [gained_closers("\nx", ")\nx", typed, cut=9) for typed in ("print(", "a")]
    [')', None]
    >>> gained_closers("}\n", "\n}\n", "\n    ", cut=9)
    '\n'
    """
    if old == new:
        return ""
    if (enter := _LINE_END.match(new)) and "\n" in typed and _behind(new, enter.end(), old, cut):
        return enter[0]
    if (most := _GAINED.match(new)) is None:
        return None
    for end in range(1, most.end() + 1):
        if _behind(new, end, old, cut) and _closes(_marks(new[:end]), typed):
            return new[:end]
    return None


def before_closers(text: str, closers: str) -> str:
    r"""`text` up to where it would write the first of `closers` (as in `gained_closers`) itself.

    >>> before_closers('f(x), ")") + 1', ")"), before_closers("return 1;\n}", "\n}"), before_closers("x", ")")
    ('f(x), ")"', 'return 1;', 'x')
    """
    if mark := _marks(closers):
        text = text[: _quote_end(text, mark) if mark[0] in "\"'`" else _bracket_end(text, mark[0])]
    return text.rstrip() if closers.startswith("\n") else text


def _behind(new: str, end: int, old: str, cut: int) -> bool:
    """Whether `old` stands behind the first `end` characters; a text that was cut lost at its end what it gained."""
    return new[end:] == old[: cut - end]


def _marks(closers: str) -> str:
    return "".join(closers.split())


def _closes(closers: str, typed: str) -> bool:
    return bool(closers) and all(_num_open(mark, typed) >= closers.count(mark) for mark in set(closers))


def _num_open(closer: str, typed: str) -> int:
    """How many of its openers `typed` leaves open; three quotes in a row open as one, and are closed as three."""
    opener = _OPENERS[closer]
    if opener != closer:
        return typed.count(opener) - typed.count(closer)
    if typed.count(opener) % 2 == 0:
        return 0
    return 3 if opener * 3 in typed else 1


def _quote_end(text: str, mark: str) -> int:
    """Where the string that `mark` ends ends; three quotes in a row are one mark."""
    quote = mark[:3] if mark[:3] == mark[0] * 3 else mark[0]
    end = re.search(rf"(?<!\\)(?:\\\\)*{re.escape(quote)}", text)
    return end.end() - len(quote) if end else len(text)


def _bracket_end(text: str, closer: str) -> int:
    """Where `closer` closes more than was opened in `text`; those in strings of one line don't count."""
    depth = 0
    for piece in _PIECE.finditer(text):
        if piece[0] == _OPENERS[closer]:
            depth += 1
        elif piece[0] == closer:
            depth -= 1
            if depth < 0:
                return piece.start()
    return len(text)
