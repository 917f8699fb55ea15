"""The words that a name is made of: in `setWidth`, `get_width` and `WIDTH_MAX` the width may be renamed."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
_LEAST_LETTERS = 2
"""One letter says too little: `i` may become `j` without `i_max` becoming `j_max`."""


def changed_words(names: Mapping[str, str]) -> list[tuple[str, str]]:
    """The words by which names differ that differ in one word, before and after, in lower case.

    >>> changed_words({"get_width": "get_height", "self": "self", "get_left": "x"})
    [('width', 'height')]
    """
    changed = (_changed_word(old, new) for old, new in names.items() if old != new)
    return list(dict.fromkeys(word for word in changed if word))


def renamed_in_part(name: str, changed: Iterable[tuple[str, str]]) -> str:
    """`name` with its words changed, in the case that it has them in.

    >>> renamed_in_part("setWidth", [("width", "height")]), renamed_in_part("MAX_WIDTH", [("width", "height")])
    ('setHeight', 'MAX_HEIGHT')
    """
    for word, other in changed:
        if word in name.lower():
            name = "".join([_cased(other, part) if part.lower() == word else part for part in _words(name)])
    return name


@lru_cache(4096)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(name))


@lru_cache(4096)
def _changed_word(old: str, new: str) -> tuple[str, str] | None:
    before, after = _words(old.lower() if old.isupper() else old), _words(new.lower() if new.isupper() else new)
    if len(before) != len(after):
        return None
    changed = [(a.lower(), b.lower()) for a, b in zip(before, after, strict=True) if a.lower() != b.lower()]
    if len(changed) != 1:
        return None
    word, other = changed[0]
    return changed[0] if word.isalpha() and other.isalpha() and len(word) >= _LEAST_LETTERS else None


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[0].isupper() else word
