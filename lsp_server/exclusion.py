"""Which documents are kept from the decoder, by what they are called: pure, it asks neither disk nor git."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pathspec import GitIgnoreSpec

from drafting.secret_names import secret_pattern

_URI = re.compile(r"(?:(?P<scheme>[a-z][a-z\d+.-]+):)?(?://[^/]*)?(?P<path>.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """excluded: None where the name does not tell. because: the end of a sentence, with the remedy."""

    excluded: bool | None
    because: str = ""


class OwnPatterns:
    """The person's patterns, written as in a `.gitignore`: the last one that matches decides, `!` lets a document in.

    They hold in any folder; one that begins with `/` or `~/` is a whole path. Raises ValueError for what is no pattern.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = tuple(pattern for pattern in patterns if pattern.strip())
        self._spec = GitIgnoreSpec.from_lines([_anchored(pattern) for pattern in self._patterns])

    def judge(self, path: str) -> Verdict:
        """What they say about a path with `/` between its parts."""
        found = self._spec.check_file(path.lstrip("/"))
        if found.include is None or found.index is None:
            return Verdict(None)
        pattern = self._patterns[found.index]
        return Verdict(found.include, f"it matches {pattern!r} of the setting `exclude`; change it there")


def judge(paths: Sequence[str], own: OwnPatterns) -> Verdict:
    """What the names of one document tell: `paths` are what it is opened as, and what a link leads to.

    The person's patterns come first, in both directions.
    """
    verdicts = [own.judge(path) for path in paths]
    for excluded in (True, False):
        if said := next((verdict for verdict in verdicts if verdict.excluded is excluded), None):
            return said
    for path in paths:
        if pattern := secret_pattern(path):
            return Verdict(True, f"its name matches {pattern!r}, as of a file with secrets; {remedy(path)}")
    return Verdict(None)


def remedy(path: str) -> str:
    r"""The setting that lets a file in whatever is against its name, as it is written in JSON.

    >>> print(remedy("/code/.env"), remedy("/code/a[1].py"), sep="\n")
    "exclude": ["!.env"] lets it in
    "exclude": ["!a\\[1].py"] lets it in
    """
    name = re.sub(r"[\\*?\[]", r"\\\g<0>", path.rpartition("/")[2])
    return f'"exclude": {json.dumps([f"!{name}"], ensure_ascii=False)} lets it in'


def path_of(uri: str) -> str:
    """The path that a URI of any scheme names, with `/` between its parts.

    In a `file` URI `#` and `?` are taken for letters, which some editors do not escape.

    >>> path_of("file:///c%3A/code/%2Eenv"), path_of("file:///C#/.env"), path_of("untitled:.env")
    ('/c:/code/.env', '/C#/.env', '.env')
    >>> path_of("vscode-notebook-cell:/code/a.ipynb#W0"), path_of("git:/code/.env?%7B%7D")
    ('/code/a.ipynb', '/code/.env')
    """
    found = _URI.fullmatch(uri)
    assert found is not None, "every text matches"
    path = found["path"]
    if (found["scheme"] or "").lower() != "file":
        path = re.split("[?#]", path, maxsplit=1)[0]
    return unquote(path).replace("\\", "/")


def _anchored(pattern: str) -> str:
    """A pattern for paths without their first `/`, which would hold from the root only where it says so."""
    sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if body.startswith("~/"):
        body = _home() + body[1:]
    return sign + (body if body.startswith(("/", "**/")) or not body else f"**/{body}")


def _home() -> str:
    try:
        return Path.home().as_posix()
    except RuntimeError as error:
        raise ValueError("there is no home directory") from error
