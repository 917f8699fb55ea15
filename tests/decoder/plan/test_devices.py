"""Lists of devices, and the devices of this machine."""

from types import SimpleNamespace

import pytest
import torch

from decoder.plan.devices import GIB, Device, parse_devices
from decoder.plan.errors import PlanError
from decoder.plan.found import found_devices

OWN = Device("cuda:0", "rtx4090-24", "cuda", 23 * GIB, used_bytes=GIB)


def parse(text: str) -> list[tuple[str, str]]:
    return [(device.name, device.model) for device in parse_devices(text, lambda: (OWN,))]


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("h200", [("cuda:0", "h200")]),
        ("a100-80:2", [("cuda:0", "a100-80"), ("cuda:1", "a100-80")]),
        ("L4, T4-16:2", [("cuda:0", "l4-24"), ("cuda:1", "t4-16"), ("cuda:2", "t4-16")]),
        ("found", [("cuda:0", "rtx4090-24")]),
        ("found,rtx4090", [("cuda:0", "rtx4090-24"), ("cuda:1", "rtx4090-24")]),
        ("mi300x", [("cuda:0", "mi300x-192")]),
        ("cpu:64", [("cpu", "cpu")]),
    ],
)
def test_a_list_names_devices_in_torchs_order(text: str, devices: list[tuple[str, str]]) -> None:
    assert parse(text) == devices


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h300", "unknown device 'h300': use h200, h100-80, a100-80"),
        ("a100:2", "unknown device 'a100:2'"),  # of 40 or 80 GB?
        ("", "unknown device ''"),
        ("h200:0", "device 'h200:0' needs a number of devices, as in h200:2, from 1 to 16"),
        ("h200:two", "device 'h200:two' needs a number of devices"),
        ("h200:", "device 'h200:' needs a number of devices"),
        ("h200:9,l4:8", "are 17: one machine has at most 16"),
        ("cpu", "device 'cpu' needs memory in GiB, as in cpu:64"),
        ("cpu:-1", "device 'cpu:-1' needs memory in GiB"),
        ("h200,cpu:64", "mix cpu and cuda"),
        ("h200,mi300x", "mix cuda and rocm"),
        ("cpu:64,cpu:64", "cpu once"),
    ],
)
def test_an_item_that_names_no_device_is_refused_with_what_is_accepted(text: str, said: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_published_memory_and_bandwidth() -> None:
    (h200,) = parse_devices("h200", tuple)
    assert h200.memory_bytes == pytest.approx(139.8 * GIB, rel=0.001)  # of 141 GB on the box
    assert h200.bytes_per_s == 4.8e12


def test_a_gpu_has_what_other_processes_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(name="NVIDIA A100-SXM4-80GB", total_memory=79 * GIB)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _gpu: properties)
    # asking makes a context of half a GiB, which is our own
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _gpu: (int(68.5 * GIB), 79 * GIB))
    (device,) = found_devices()
    assert device == Device("cuda:0", "a100-80", "cuda", 79 * GIB, 2.039e12, used_bytes=10 * GIB)
    assert device.usable_bytes == pytest.approx((79 * 0.98 - 10) * GIB)


def test_without_a_gpu_the_hosts_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (device,) = found_devices()
    assert (device.name, device.kind) == ("cpu", "cpu")
    assert device.usable_bytes > GIB
