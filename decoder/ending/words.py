"""Brackets and words that open, go on with and close blocks, over all languages."""

import re

OPENERS = ("{", "(", "[", ":", "=>", "->", " then", " do", " else", "begin")
"""A line that ends so opens a block."""

CLOSERS = ")]}"

_CLOSER = re.compile(r"[})\]]|(?:end(?:\s+\w+)?|fi|done|esac)\s*(?:[;,)|&<>].*)?$", re.IGNORECASE)
_END_WORDS = ("end", "fi", "done", "esac")
_BRANCHES = ("else", "elif", "elsif", "elseif", "except", "finally", "rescue", "ensure", "catch")
_BRANCH = re.compile(rf"(?:{'|'.join(_BRANCHES)})\b(?!\s*(?:[-+*/|&.]?=|[.,]))")
_FIRST_WORD = re.compile(r"\w*")
_BRANCHED = re.compile(
    r"\W*(?:async |else )?(?:if|el\w+|for|while|unless|try|except|catch|begin|rescue|case|with|do)\b"
)


def closes(line: str) -> bool:
    """Whether a line closes a block: by a bracket or by a word, which is not the beginning of a name or an assignment.

    >>> closes("  });"), closes("end"), closes("endpoint = 1")
    (True, True, False)
    """
    return _CLOSER.match(line.strip()) is not None


def branches(line: str) -> bool:
    """Whether a line goes on with a construct that a line further up has begun: `else`, `except` and their like.

    >>> branches("else:"), branches("elsewhere()"), branches("except = 1")
    (True, False, False)
    """
    return _BRANCH.match(line.strip()) is not None


def may_branch(line: str) -> bool:
    """Whether a line that `else` or its like begins may belong to the one that begins so.

    >>> may_branch("} else if (x) {"), may_branch("while x:"), may_branch("def f():")
    (True, True, False)
    """
    return _BRANCHED.match(line.strip()) is not None


def begins_anew(begun: str) -> bool:
    """Whether a line of which at least this is written neither closes nor goes on with anything, whatever follows.

    >>> [begins_anew(begun) for begun in ("", "}", "el", "elsewh", "else", "def ", "d", "<|")]
    [False, False, False, True, False, True, False, False]
    """
    begun = begun.strip(" \t") + (" " if begun.rstrip(" \t") != begun else "")
    if not begun or begun[0] in CLOSERS + "<`\ufffd\0":
        return False
    word = _FIRST_WORD.match(begun)
    assert word, "it matches everywhere"
    if word.end() == len(begun):
        return not any(known.startswith(word[0].lower()) for known in (*_BRANCHES, *_END_WORDS))
    return word[0].lower() not in (*_BRANCHES, *_END_WORDS)
