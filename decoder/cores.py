"""The processor: what it is, and how many of its cores this process may really use."""

import math
import os
import platform
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def available_cores(cgroup: Path = _CGROUP) -> int:
    """Those it is bound to, less what a container's quota takes away (cgroup v2's cpu.max, v1's cpu.cfs_*)."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota(cgroup)
    return max(1, min(bound, math.ceil(quota))) if quota else bound


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


def _quota(cgroup: Path) -> float | None:
    """Cores' worth of time; None where there is no limit."""
    try:
        allowed, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            allowed = (cgroup / "cpu" / "cpu.cfs_quota_us").read_text(encoding="ascii").strip()
            period = (cgroup / "cpu" / "cpu.cfs_period_us").read_text(encoding="ascii").strip()
        except OSError:
            return None
    return None if allowed in ("max", "-1") else int(allowed) / int(period)
