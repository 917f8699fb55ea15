"""The control groups around this process, by which containers and services limit it (see cgroups(7))."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The group that a process is in. root: where groups are mounted. membership: the file that names it."""

    root: Path = Path("/sys/fs/cgroup")
    membership: Path = Path("/proc/self/cgroup")

    def folders(self, controller: str = "") -> Iterator[Path]:
        """From the group itself up to the root: of version 1's `controller`, or of version 2, which has one for all.

        What lies outside of this process's namespace ("..") is not seen.
        """
        root = self.root / controller
        group = self._named(controller)
        inner = root if ".." in group else root / group.lstrip("/")
        return (folder for folder in (inner, *inner.parents) if root in (folder, *folder.parents))

    def _named(self, controller: str) -> str:
        lines = [line.split(":", 2) for line in setting(self.membership).split("\n")]
        groups = ((line[1], line[2]) for line in lines if len(line) == 3)
        return next((group for controllers, group in groups if controller in controllers.split(",")), "/")


OWN_GROUP = ControlGroup()


def setting(path: Path) -> str:
    """The text of a file of the system; "" where there is none that can be read."""
    try:
        return os.fsdecode(path.read_bytes())
    except (OSError, ValueError):  # the latter for a path that no file can have
        return ""
