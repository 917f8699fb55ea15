"""The words that a name is made of: in `setWidth`, `get_width` and `WIDTH_MAX` the width may be renamed."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
_LEAST_LETTERS = 2
"""One letter says too little: `i` may become `j` without `i_max` becoming `j_max`."""


def renamed_in_part(name: str, names: Mapping[str, str]) -> str:
    """`name` with those words changed by which other names changed that differ in one word, in the case it has them in.

    >>> renamed_in_part("setWidth", {"width": "height"}), renamed_in_part("MAX_WIDTH", {"get_width": "get_height"})
    ('setHeight', 'MAX_HEIGHT')
    >>> renamed_in_part("setWidth", {"get_width": "x"})
    'setWidth'
    """
    changed = [(old, new) for old, new in names.items() if old != new]
    return "".join([_renamed(part, changed) for part in _words(name)]) if changed else name


def _renamed(part: str, changed: Sequence[tuple[str, str]]) -> str:
    word = part.lower()
    if len(word) < _LEAST_LETTERS:
        return part
    for old, new in changed:
        if word in old.lower():  # splitting every name into words would take longer
            found = _changed_word(old, new)
            if found and found[0] == word:
                return _cased(found[1], part)
    return part


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
    return changed[0] if word.isalpha() and other.isalpha() else None


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[0].isupper() else word
