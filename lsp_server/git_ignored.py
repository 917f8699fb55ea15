"""Whether version control ignores a file. Asks git, once a file; where git cannot tell, it does not."""

import asyncio
import logging
import os
from pathlib import Path

ANSWER_SECONDS = 2.0
"""A git that has not answered by then is ended, and its silence taken for a no."""

_AT_ONCE = 4
"""So many may ask at the same time: an editor can open a hundred files at its start."""

_OF_OTHER_REPOSITORIES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""Set where git itself has started the editor, for the repository of the commit."""

logger = logging.getLogger(__name__)


def folder_under_git(path: Path) -> Path | None:
    """The nearest existing folder of a file, where it or one above is a git work tree; a few looks at the disk."""
    try:
        if any((folder / ".git").exists() for folder in path.parents):
            return next(folder for folder in path.parents if folder.is_dir())
    except OSError:  # a folder that may not be looked into
        pass
    return None


class GitIgnored:
    """Asks git about one file at a time, a few at once."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, path: Path, folder: Path) -> bool:
        """Whether git, asked in `folder`, ignores `path`. Tracked files are never ignored."""
        async with self._turns:
            try:
                return await _ask(path, folder) == 0
            except TimeoutError:
                logger.warning("git has not told within %.0f s whether it ignores %s", ANSWER_SECONDS, path)
                return False
            except OSError:  # there is no git
                return False


async def _ask(path: Path, folder: Path) -> int | None:
    """The exit code: 0 ignored, 1 not, 128 git cannot tell. Raises TimeoutError, and OSError without a git."""
    command = ("git", "-c", "core.fsmonitor=false", "-C", str(folder), "check-ignore", "--stdin", "-z")
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=nowhere,
        stderr=nowhere,
        env={name: value for name, value in os.environ.items() if name not in _OF_OTHER_REPOSITORIES},
    )
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await process.communicate(os.fsencode(path) + b"\0")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode
