"""The devices of this machine."""

import os
from pathlib import Path

from decoder.plan.devices import Device, gpu_like
from decoder.plan.errors import PlanError
from decoder.plan.footprint import CONTEXT_BYTES


def found_devices() -> tuple[Device, ...]:
    """The GPUs that torch finds, less what other processes hold there; where there is none, the host as `found_host`.

    Raises PlanError where the system does not tell its memory.
    """
    import torch  # takes seconds, and only a look at this machine needs it

    if not torch.cuda.is_available():
        return (found_host(),)
    return tuple(_gpu(number) for number in range(torch.cuda.device_count()))


def found_host(meminfo: Path = Path("/proc/meminfo")) -> Device:
    """The memory of this machine, less what is in use by others and by this process.

    meminfo: where the system tells that (see proc_meminfo(5)); nothing counts as used where it does not.
    Raises PlanError where the system does not tell its memory.
    """
    try:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError) as error:
        raise PlanError("this system does not tell how much memory it has: say it, as in --devices cpu:64") from error
    # Python and its libraries are here already, and every plan counts them for itself
    used_bytes = max(0, memory_bytes - _available_bytes(meminfo, memory_bytes) - CONTEXT_BYTES)
    return Device("cpu", "cpu", "cpu", memory_bytes, used_bytes=used_bytes)


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
    """What programs may still take, caches of files included."""
    try:
        lines = meminfo.read_text(encoding="ascii").splitlines()
    except OSError:
        return otherwise
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), otherwise)
