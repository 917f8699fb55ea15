"""The host's memory, as the system tells it."""

import os
from pathlib import Path

import pytest

from decoder.control_group import ControlGroup
from decoder.plan.devices import GIB
from decoder.plan.errors import PlanError
from decoder.plan.footprint import CONTEXT_BYTES
from decoder.plan.found import found_host

NO_GROUP = ControlGroup(Path("/absent"), Path("/absent"))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 64 GiB."""
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 64 * GIB // 4096}.__getitem__)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("lines", "used"),
    [
        ("MemTotal: 67108864 kB\nMemFree: 1048576 kB\nMemAvailable: 41943040 kB\n", 24 * GIB - CONTEXT_BYTES),
        ("MemTotal: 67108864 kB\nMemAvailable: 67000000 kB\n", 0),
        ("MemTotal: 67108864 kB\nMemFree: 1048576 kB\n", 0),
    ],
)
def test_what_is_in_use_is_not_there_for_a_plan(tmp_path: Path, lines: str, used: int) -> None:
    path = tmp_path / "meminfo"
    path.write_text(lines, encoding="ascii")
    host = found_host(path, NO_GROUP)
    assert (host.memory_bytes, host.used_bytes) == (64 * GIB, used)


@pytest.mark.usefixtures("large")
def test_where_the_system_does_not_tell_what_is_in_use_nothing_counts(tmp_path: Path) -> None:
    assert found_host(tmp_path / "absent", NO_GROUP).used_bytes == 0


def limited(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / f"memory.{name}").write_text(f"{value}\n", encoding="ascii")
    return folder


def usable(folder: Path, membership: str) -> tuple[float, float]:
    """GiB in all and in use, of a process in such groups on a machine with 40 GiB that are free."""
    meminfo, member = folder / "meminfo", folder / "membership"
    meminfo.write_text(f"MemAvailable: {40 * GIB >> 10} kB\n", encoding="ascii")
    member.write_text(membership, encoding="ascii")
    host = found_host(meminfo, ControlGroup(folder / "cgroup", member))
    return host.memory_bytes / GIB, (host.used_bytes + CONTEXT_BYTES) / GIB


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    ("group", "found"),
    [
        ("/pod/tight", (8, 3)),
        ("/pod/open", (16, 10)),
        ("/elsewhere", (64, 24)),
        ("/../outside", (64, 24)),
    ],
)
def test_the_tightest_limit_of_a_container_around_it_counts(
    tmp_path: Path, group: str, found: tuple[float, float]
) -> None:
    # a model was planned into the machine's memory, and its process killed in the container's
    stat = f"anon 1\nactive_file {GIB}\ninactive_file {GIB}\nfile {4 * GIB}"
    limited(tmp_path / "cgroup" / "pod", max=16 * GIB, current=12 * GIB, stat=stat)
    limited(tmp_path / "cgroup" / "pod" / "tight", max=8 * GIB, current=3 * GIB, stat="anon 1")
    limited(tmp_path / "cgroup" / "pod" / "open", max="max", current=9 * GIB)
    limited(tmp_path / "outside", max=GIB)
    assert usable(tmp_path, f"0::{group}\n") == found


@pytest.mark.usefixtures("large")
def test_the_older_form_of_limits_is_read_too(tmp_path: Path) -> None:
    root = limited(tmp_path / "cgroup" / "memory", limit_in_bytes=(1 << 63) - 4096, usage_in_bytes=30 * GIB)
    stat = f"inactive_file 0\ntotal_active_file 0\ntotal_inactive_file {GIB}"
    limited(root / "jobs", limit_in_bytes=4 * GIB, usage_in_bytes=3 * GIB, stat=stat)
    assert usable(tmp_path, "5:cpu:/\n4:memory:/jobs/7\n0::/\n") == (4, 2)
    assert usable(tmp_path, "4:memory:/\n0::/\n") == (64, 24)


def test_a_system_that_does_not_tell_its_memory_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    with pytest.raises(PlanError, match="--devices cpu:64"):
        found_host()


def test_this_machine_has_some() -> None:
    host = found_host()
    assert 0 <= host.used_bytes < host.memory_bytes
