"""Time and bandwidth of a device, measured with everything before and after it finished."""

import statistics
import time
from collections.abc import Callable

import torch


def synchronize(device: torch.device) -> None:
    """Waits for all that was launched; on a CPU nothing is pending."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def median_ms(
    device: torch.device, run: Callable[[], object], *, repeats: int, between: Callable[[], object] | None = None
) -> float:
    """The median time of `run` after one that does not count; `between` is called, untimed, after each."""
    times = []
    for _ in range(repeats + 1):
        synchronize(device)
        started = time.perf_counter()
        run()
        synchronize(device)
        times.append(1000 * (time.perf_counter() - started))
        if between is not None:
            between()
    return statistics.median(times[1:])


def copy_bandwidth(device: torch.device, num_bytes: int) -> float:
    """Bytes read and written a second by a copy within the device's memory, best of ten."""
    source = torch.empty(num_bytes, dtype=torch.uint8, device=device).random_()
    target = torch.empty_like(source)
    best = min(median_ms(device, lambda: target.copy_(source), repeats=1) for _ in range(10))
    return 2 * num_bytes / (best / 1000)
