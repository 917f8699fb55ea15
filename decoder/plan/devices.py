"""Devices by name: how much memory torch finds on them, and how fast it is read."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from decoder.plan.errors import PlanError

Kind = Literal["cuda", "rocm", "cpu"]
GIB = 2**30
_MOST = 16  # devices in a list, as one machine has them


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU, or the host's memory.

    name: torch's, as `cuda:0` (on ROCm too). model: what it is, as `h200`. used_bytes: by other processes.
    bytes_per_s: published memory bandwidth; 0 where it is not known.
    """

    name: str
    model: str
    kind: Kind
    memory_bytes: int
    bytes_per_s: float = 0.0
    used_bytes: int = 0

    @property
    def reserve_bytes(self) -> int:
        """Left alone: 2 % of a GPU for what the allocator cannot hand out, 10 % of a host for its other work."""
        return self.memory_bytes // (10 if self.kind == "cpu" else 50)

    @property
    def usable_bytes(self) -> int:
        """What a plan may fill."""
        return self.memory_bytes - self.used_bytes - self.reserve_bytes


@dataclass(frozen=True, slots=True)
class _Gpu:
    """product: as its maker's driver calls it; advertised: GB on the box; gib: the least that torch reports."""

    model: str
    product: str
    advertised: int
    gib: float
    gb_per_s: int
    kind: Kind = "cuda"

    @property
    def device(self) -> Device:
        return Device("", self.model, self.kind, int(self.gib * GIB), self.gb_per_s * 1e9)


# Bandwidth: the makers' data sheets, the fastest variant (SXM). Memory: total_memory as torch reports it.
_GPUS = (
    _Gpu("h200", "H200", 141, 139.72, 4800),
    _Gpu("h100-80", "H100", 80, 79.1, 3350),
    _Gpu("a100-80", "A100", 80, 79.14, 2039),
    _Gpu("a100-40", "A100", 40, 39.38, 1555),
    _Gpu("l40s-48", "L40S", 48, 44.39, 864),
    _Gpu("rtx6000ada-48", "RTX 6000 Ada", 48, 47.4, 960),
    _Gpu("rtx4090-24", "RTX 4090", 24, 23.52, 1008),
    _Gpu("rtx3090-24", "RTX 3090", 24, 23.56, 936),
    _Gpu("l4-24", "L4", 24, 22.03, 300),
    _Gpu("t4-16", "T4", 16, 14.56, 320),
    _Gpu("mi300x-192", "MI300X", 192, 191.69, 5300, "rocm"),
)
_NAMED: dict[str, _Gpu] = {gpu.model: gpu for gpu in _GPUS}
for _gpu in _GPUS:  # the size may be left away where a product has one only
    if sum(each.product == _gpu.product for each in _GPUS) == 1:
        _NAMED[_gpu.model.partition("-")[0]] = _gpu
_ACCEPTED = (
    f"{', '.join(gpu.model for gpu in _GPUS)} with :COUNT, as in a100-80:2; cpu:GIB, as in cpu:64; found (this machine)"
)


def parse_devices(text: str, found: Callable[[], Sequence[Device]]) -> tuple[Device, ...]:
    """The devices of a list like `h200:1`, `a100-80:2,l4:1`, `cpu:64` or `found`; `found` looks at this machine.

    Raises PlanError naming the item at fault, and for a mixture that one process cannot use.
    """
    devices = [device for item in text.split(",") for device in _item(item.strip().lower(), found)]
    if len(devices) > _MOST:
        raise PlanError(f"devices {text!r} are {len(devices)}: one machine has at most {_MOST}")
    kinds = sorted({device.kind for device in devices})
    if len(kinds) > 1 or (kinds == ["cpu"] and len(devices) > 1):
        raise PlanError(f"devices {text!r} mix {' and '.join(kinds)}: name GPUs of one maker, or cpu once")
    if kinds == ["cpu"]:
        return tuple(devices)
    return tuple(replace(device, name=f"cuda:{number}") for number, device in enumerate(devices))


def gpu_like(product: str, memory_bytes: int) -> tuple[str, float]:
    """Model and bytes per second of a GPU by the name its driver gives, as far as it is known.

    >>> gpu_like("NVIDIA A100-SXM4-80GB", 79 * GIB)
    ('a100-80', 2039000000000.0)
    >>> gpu_like("NVIDIA GeForce GTX 1080", 8 * GIB)
    ('NVIDIA GeForce GTX 1080', 0.0)
    """
    alike = [gpu for gpu in _GPUS if re.search(rf"\b{gpu.product}\b", product)]
    if not alike:
        return product, 0.0
    nearest = min(alike, key=lambda gpu: abs(gpu.gib * GIB - memory_bytes))
    return nearest.model, nearest.device.bytes_per_s


def _item(item: str, found: Callable[[], Sequence[Device]]) -> Sequence[Device]:
    name, colon, number = item.partition(":")
    if item == "found":
        return found()
    if name == "cpu":
        return [Device("cpu", "cpu", "cpu", int(_number(item, number, 2**20, "memory in GiB, as in cpu:64") * GIB))]
    if name not in _NAMED:
        raise PlanError(f"unknown device {item!r}: use {_ACCEPTED}")
    count = _number(item, number, _MOST, f"a number of devices, as in {name}:2") if colon else 1
    return [_NAMED[name].device] * count


def _number(item: str, text: str, most: int, meaning: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or not 1 <= int(text) <= most:
        raise PlanError(f"device {item!r} needs {meaning}, from 1 to {most:,}")
    return int(text)
