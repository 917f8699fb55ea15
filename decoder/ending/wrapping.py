"""What a model writes around a text: markers of its own, spelt out as text, and the fences of a chat."""

import re
from functools import cached_property

_MARKER = re.compile(
    r"<[|｜][a-zA-Z][\w▁]+[|｜]>"  # <|endoftext|>, <|fim_middle|>, <｜fim▁begin｜>
    r"|<fim[_-](?:prefix|middle|suffix|pad)>"
    r"|(?<![\w<])<(?:PRE|SUF|MID|EOT|file_sep|repo_name|reponame|gh_stars|endoftext)>"  # else a type
    r"|[\ufffd\0]"  # bytes that are no text
)
_BEGUN_MARKER = re.compile(r"<(?:[|｜](?:fim|begin|end|im|eot|file|repo)[\w▁]*[|｜]?|fim[_-]\w*)$")
_OPENING = re.compile(r"((?:[ \t]*\n)*)[ \t]*```[\w+#.-]{0,20}[ \t]*\n")
_CLOSING = re.compile(r"[ \t]*```[ \t]*")
_PROSE = ("markdown", "mdx", "quarto", "rmd", "restructuredtext", "plaintext")


class Wrapping:
    """What of this kind is no part of the document: neither markers nor fences that the document itself speaks of."""

    def __init__(self, language: str, around: str) -> None:
        """around: the text near the cursor; it is searched once something of the kind has been written."""
        self._prose = language in _PROSE
        self._around = around

    def opening(self, text: str) -> tuple[int, int]:
        """The fence before the text, from and to, its line end included; an empty range where there is none."""
        found = _OPENING.match(text)
        return (found.end(1), found.end()) if found and self._fences else (0, 0)

    def is_closing(self, line: str) -> bool:
        """Whether a line is a fence after the text."""
        return _CLOSING.fullmatch(line) is not None and self._fences

    def marker(self, text: str) -> int | None:
        """Where the first marker begins."""
        found = _MARKER.search(text)
        return found.start() if found and self._markers else None

    def without_half_marker(self, text: str) -> str:
        """The text without a marker that it breaks off in."""
        found = _BEGUN_MARKER.search(text)
        return text[: found.start()] if found and self._markers else text

    @cached_property
    def _fences(self) -> bool:
        return not self._prose and "```" not in self._around

    @cached_property
    def _markers(self) -> bool:
        return not _MARKER.search(self._around)
