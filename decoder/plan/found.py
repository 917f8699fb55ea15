"""The devices of this machine."""

import os

from decoder.plan.devices import Device, gpu_like
from decoder.plan.errors import PlanError
from decoder.plan.footprint import CONTEXT_BYTES


def found_devices() -> tuple[Device, ...]:
    """The GPUs that torch finds, less what other processes hold there; the host's memory where there is no GPU.

    Raises PlanError where the system does not tell its memory.
    """
    import torch  # takes seconds, and only a look at this machine needs it

    if not torch.cuda.is_available():
        return (_host(),)
    return tuple(_gpu(number) for number in range(torch.cuda.device_count()))


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


def _host() -> Device:
    try:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError) as error:
        raise PlanError("this system does not tell how much memory it has: say it, as in --devices cpu:64") from error
    return Device("cpu", "cpu", "cpu", memory_bytes)
