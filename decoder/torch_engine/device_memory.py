"""Allocators' errors, which differ by device and say nothing of ours, as one error with figures."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from decoder.torch_engine.memory import DeviceMemoryError, MemoryFigures

_CPU_ALLOCATOR = "DefaultCPUAllocator"


@contextmanager
def naming_memory(device: torch.device, purpose: str) -> Iterator[None]:
    """Out-of-memory errors inside become DeviceMemoryError; others pass as they are."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError) as error:
        raise _named(device, purpose, error) from error
    except RuntimeError as error:
        if _CPU_ALLOCATOR not in str(error):  # not a MemoryError
            raise
        raise _named(device, purpose, error) from error


def _named(device: torch.device, purpose: str, error: Exception) -> DeviceMemoryError:
    detail = ". ".join(str(error).strip().partition("\n")[0].split(". ")[:2]) or type(error).__name__
    return DeviceMemoryError(str(device), purpose, memory_figures(device), detail)


def memory_figures(device: torch.device) -> MemoryFigures | None:
    """What a CUDA device, or the machine, has; None where the system does not say."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return MemoryFigures(total, free, torch.cuda.memory_reserved(device))
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        resident = int(Path("/proc/self/statm").read_text().split()[1])
        return MemoryFigures(os.sysconf("SC_PHYS_PAGES") * page, os.sysconf("SC_AVPHYS_PAGES") * page, resident * page)
    except (OSError, ValueError, AttributeError):
        return None
