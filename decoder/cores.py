"""The processor: what it is, and how many of its cores this process may really use."""

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def available_cores(cgroup: Path = _CGROUP, membership: Path = _MEMBERSHIP) -> int:
    """Those it is bound to, less what the tightest quota of a container or service around it takes away.

    cgroup: where control groups are mounted. membership: which of them this process is in (see cgroups(7)).
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    tightest = min(_quotas(cgroup, membership), default=math.inf)
    return max(1, math.ceil(min(bound, tightest)))


def cpu_name() -> str:
    """For people, and to tell machines apart; "" where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def cpu_features() -> str:
    """The instruction sets by which libraries choose their kernels; processors of one name may differ in them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(("flags", "Features"))), "")


def _quotas(cgroup: Path, membership: Path) -> Iterator[float]:
    """Cores' worth of time by each group from this process's own up to the root: version 2's cpu.max, 1's cpu.cfs_*."""
    groups = {kind: path for _, kind, path in (line.split(":", 2) for line in _text(membership).splitlines())}
    for folder in _up_to(cgroup, groups.get("", "/")):
        yield _cores(*_text(folder / "cpu.max").split())
    own = next((path for kinds, path in groups.items() if "cpu" in kinds.split(",")), "/")
    for folder in _up_to(cgroup / "cpu", own):
        yield _cores(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))


def _up_to(root: Path, group: str) -> Iterator[Path]:
    """The folders of a group and those around it; what lies outside of this process's namespace ("..") is not seen."""
    inner = root if ".." in group else root / group.lstrip("/")
    return (folder for folder in (inner, *inner.parents) if root in (folder, *folder.parents))


def _cores(allowed: str = "max", period: str = "") -> float:
    """Infinite where there is no limit, or none that can be understood."""
    try:
        cores = int(allowed) / int(period)
    except (ValueError, ZeroDivisionError):
        return math.inf
    return cores if cores > 0 else math.inf  # -1 is none in version 1


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
