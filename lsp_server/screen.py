"""Which of the open documents the decoder may see: names are judged at once, git is asked in the background."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path

from lsp_server.exclusion import OwnPatterns, Verdict, judge, path_of, remedy
from lsp_server.git_ignored import GitIgnored, folder_under_git

_DRIVE = re.compile(r"^/(?=[A-Za-z]:)")
_ON_DISK = ("file:", "vscode-notebook-cell:")
"""The latter names a notebook's file and, in the fragment, a cell."""


class Screen:
    """A verdict on each open document. What is not known to be harmless is excluded; unknown documents are."""

    def __init__(self, own: OwnPatterns, on_verdict: Callable[[str], None]) -> None:
        """on_verdict: learns the uri of a document on which git has answered."""
        self._own = own
        self._on_verdict = on_verdict
        self._paths: dict[str, tuple[str, ...]] = {}
        self._by_name: dict[str, Verdict] = {}
        """Judged once, and again where the patterns change: it would be a part of what each key costs."""
        self._asked: dict[str, asyncio.Task[bool]] = {}
        self._git = GitIgnored()

    def open(self, uri: str) -> None:
        """Begins to judge a document."""
        self.close(uri)
        self._paths[uri] = (path_of(uri),)
        if (real := _real_path(uri)) is None:
            return
        self._paths[uri] += (real.as_posix(),)
        if folder := folder_under_git(real):
            asked = asyncio.get_running_loop().create_task(self._git.ask(real, folder))
            self._asked[uri] = asked
            asked.add_done_callback(lambda done: self._tell(uri, done))

    def close(self, uri: str) -> None:
        """Forgets a document."""
        self._paths.pop(uri, None)
        self._by_name.pop(uri, None)
        if asked := self._asked.pop(uri, None):
            asked.cancel()

    def follow(self, own: OwnPatterns) -> None:
        """From now on the person's patterns are these; git is not asked again."""
        self._own = own
        self._by_name.clear()

    def verdict(self, uri: str) -> Verdict:
        """What is known now; `excluded` is None while git has not answered."""
        paths = self._paths.get(uri)
        if paths is None:
            return Verdict(True, "it is not open")
        if uri not in self._by_name:
            self._by_name[uri] = judge(paths, self._own)
        by_name, asked = self._by_name[uri], self._asked.get(uri)
        if by_name.excluded is not None or asked is None:
            return by_name if by_name.excluded is not None else Verdict(False)
        if not asked.done():
            return Verdict(None)
        return Verdict(True, f"git ignores it; {remedy(paths[0])}") if asked.result() else Verdict(False)

    async def settled(self, uri: str) -> Verdict:
        """The verdict, as soon as git has answered; without waiting where there is one already."""
        while (verdict := self.verdict(uri)).excluded is None:  # again where it has been opened anew meanwhile
            await asyncio.wait([self._asked[uri]])
        return verdict

    async def aclose(self) -> None:
        """Forgets all documents."""
        asked = list(self._asked.values())
        for uri in list(self._paths):
            self.close(uri)
        await asyncio.gather(*asked, return_exceptions=True)

    def _tell(self, uri: str, done: asyncio.Task[bool]) -> None:
        if self._asked.get(uri) is done:
            self._on_verdict(uri)


def _real_path(uri: str) -> Path | None:
    """Where the document lies on this machine, links followed; None where its URI names no file here."""
    if not uri.lower().startswith(_ON_DISK):
        return None
    try:
        return Path(os.path.realpath(_DRIVE.sub("", path_of(uri))))
    except ValueError:  # a NUL, or what the file system cannot write
        return None
