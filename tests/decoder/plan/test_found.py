"""The host's memory, as the system tells it."""

import os
from pathlib import Path

import pytest

from decoder.plan.devices import GIB
from decoder.plan.errors import PlanError
from decoder.plan.footprint import CONTEXT_BYTES
from decoder.plan.found import found_host


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
    assert (found_host(path).memory_bytes, found_host(path).used_bytes) == (64 * GIB, used)


@pytest.mark.usefixtures("large")
def test_where_the_system_does_not_tell_what_is_in_use_nothing_counts(tmp_path: Path) -> None:
    assert found_host(tmp_path / "absent").used_bytes == 0


def test_a_system_that_does_not_tell_its_memory_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    with pytest.raises(PlanError, match="--devices cpu:64"):
        found_host()


def test_this_machine_has_some() -> None:
    host = found_host()
    assert 0 <= host.used_bytes < host.memory_bytes
