"""The devices of this machine."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from decoder.control_group import OWN_GROUP, ControlGroup, setting
from decoder.plan.devices import Device, gpu_like
from decoder.plan.errors import PlanError
from decoder.plan.footprint import CONTEXT_BYTES


@dataclass(frozen=True, slots=True)
class _Memory:
    """Bytes of a machine or a control group: in all, and what programs may still take, caches of files included."""

    whole: int
    available: int


def num_gpus() -> int:
    """Those that torch finds. Raises ImportError where there is no torch."""
    import torch  # takes seconds, and only a look at this machine needs it

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def found_devices() -> tuple[Device, ...]:
    """The GPUs that torch finds, less what other processes hold there; where there is none, the host as `found_host`.

    Raises PlanError where the system does not tell its memory.
    """
    return tuple(_gpu(number) for number in range(num_gpus())) or (found_host(),)


def found_host(meminfo: Path = Path("/proc/meminfo"), group: ControlGroup = OWN_GROUP) -> Device:
    """The memory of this machine, or of the tightest container or service around this process, less what is in use.

    meminfo: where the system tells that (see proc_meminfo(5)); nothing counts as used where it does not.
    Raises PlanError where the system does not tell its memory.
    """
    try:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError) as error:
        raise PlanError("this system does not tell how much memory it has: say it, as in --devices cpu:64") from error
    found = [_Memory(memory_bytes, _available_bytes(meminfo, memory_bytes)), *_limits(group)]
    whole, available = min(each.whole for each in found), min(each.available for each in found)
    # Python and its libraries are here already, and every plan counts them for itself
    return Device("cpu", "cpu", "cpu", whole, used_bytes=max(0, whole - available - CONTEXT_BYTES))


def _gpu(number: int) -> Device:
    import torch

    properties = torch.cuda.get_device_properties(number)
    free_bytes, total_bytes = torch.cuda.mem_get_info(number)
    model, bytes_per_s = gpu_like(properties.name, properties.total_memory)
    return Device(
        name=f"cuda:{number}",
        model=model,
        kind="rocm" if torch.version.hip else "cuda",
        memory_bytes=properties.total_memory,
        bytes_per_s=bytes_per_s,
        # asking has made a context of our own, which every plan counts for itself
        used_bytes=max(0, total_bytes - free_bytes - CONTEXT_BYTES),
    )


def _available_bytes(meminfo: Path, otherwise: int) -> int:
    """What programs may still take; `otherwise` where that is not told."""
    lines = setting(meminfo).splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), otherwise)


def _limits(group: ControlGroup) -> Iterator[_Memory]:
    """By each group from this process's own up to the root: version 2's memory.max, 1's memory.limit_in_bytes."""
    for folder in group.folders():
        yield from _limit(folder, "memory.max", "memory.current", "")
    for folder in group.folders("memory"):
        yield from _limit(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")


def _limit(folder: Path, limit: str, usage: str, prefix: str) -> Iterator[_Memory]:
    """Nothing where there is no limit, or none that can be understood. prefix: of the group's sums in memory.stat."""
    whole = setting(folder / limit).strip()
    if not whole.isdecimal():
        return
    used = setting(folder / usage).strip()
    stat = dict(line.split(" ", 1) for line in setting(folder / "memory.stat").splitlines() if " " in line)
    cached = sum(int(stat.get(f"{prefix}{kind}", 0)) for kind in ("active_file", "inactive_file"))
    in_use = max(0, int(used) - cached) if used.isdecimal() else 0
    yield _Memory(int(whole), max(0, int(whole) - in_use))
