"""A git repository of a test's own."""

import subprocess
from pathlib import Path


def repository(folder: Path, *ignored: str) -> Path:
    """Makes a folder a repository that ignores these patterns; its real path."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".gitignore").write_text("\n".join(ignored), encoding="utf-8")
    return folder.resolve()


def track(project: Path, name: str) -> None:
    """Puts a file under version control, ignored or not."""
    subprocess.run(["git", "-C", str(project), "add", "-f", name], check=True)
