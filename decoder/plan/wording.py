"""Figures and devices as a person reads them."""

from collections import Counter
from collections.abc import Sequence

from decoder.plan.devices import GIB, Device


def gib(num_bytes: int) -> str:
    """
    >>> gib(1536 * 2**20)
    '1.5 GiB'
    """
    return f"{num_bytes / GIB:,.1f} GiB"


def named(devices: Sequence[Device]) -> str:
    """The list that `--devices` takes for them, as `a100-80:2` or `cpu:64`."""
    if devices[0].kind == "cpu":
        return f"cpu:{devices[0].memory_bytes // GIB}"
    return ",".join(f"{model}:{count}" for model, count in Counter(device.model for device in devices).items())
