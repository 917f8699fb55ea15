"""The processor: what it is, and how many of its cores this process may really use."""

import math
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from decoder.control_group import OWN_GROUP, ControlGroup, setting


def available_cores(group: ControlGroup = OWN_GROUP) -> int:
    """Those it is bound to, less what the tightest quota of a container or service around it takes away."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    tightest = min(_quotas(group), default=math.inf)
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


def _quotas(group: ControlGroup) -> Iterator[float]:
    """Cores' worth of time by each group from this process's own up to the root: version 2's cpu.max, 1's cpu.cfs_*."""
    for folder in group.folders():
        yield _cores(*setting(folder / "cpu.max").split()[:2])
    for folder in group.folders("cpu"):
        yield _cores(setting(folder / "cpu.cfs_quota_us"), setting(folder / "cpu.cfs_period_us"))


def _cores(allowed: str = "max", period: str = "") -> float:
    """Infinite where there is no limit, or none that can be understood."""
    try:
        cores = int(allowed) / int(period)
    except (ValueError, ArithmeticError):
        return math.inf
    return cores if cores > 0 else math.inf  # -1 is none in version 1
