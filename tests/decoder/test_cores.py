"""Quotas as containers state them, in folders that look like the system's."""

import os
from pathlib import Path

import pytest

from decoder.cores import available_cores


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process bound to eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)


def version_2(folder: Path, text: str) -> Path:
    (folder / "cpu.max").write_text(text, encoding="ascii")
    return folder


def version_1(folder: Path, quota: str, period: str = "100000\n") -> Path:
    (folder / "cpu").mkdir()
    (folder / "cpu" / "cpu.cfs_quota_us").write_text(quota, encoding="ascii")
    (folder / "cpu" / "cpu.cfs_period_us").write_text(period, encoding="ascii")
    return folder


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(
    ("allowed", "cores"),
    [
        ("max 100000\n", 8),
        ("200000 100000\n", 2),
        ("250000 100000\n", 3),
        ("50000 100000\n", 1),
        ("1000 100000\n", 1),
        ("100000 50000\n", 2),
        ("6400000 100000\n", 8),
        ("nonsense\n", 8),
        ("", 8),
    ],
)
def test_a_quota_counts_in_whole_cores_at_least_one_and_never_more_than_there_are(
    tmp_path: Path, allowed: str, cores: int
) -> None:
    assert available_cores(version_2(tmp_path, allowed)) == cores


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(("quota", "cores"), [("-1\n", 8), ("150000\n", 2), ("800000\n", 8), ("900000\n", 8)])
def test_the_older_form_is_read_too(tmp_path: Path, quota: str, cores: int) -> None:
    assert available_cores(version_1(tmp_path, quota)) == cores


@pytest.mark.usefixtures("eight")
def test_without_quotas_it_is_the_cores_that_the_process_is_bound_to(tmp_path: Path) -> None:
    assert available_cores(tmp_path) == 8
    assert available_cores(tmp_path / "absent") == 8


def test_where_processes_cannot_be_bound_it_is_all_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert available_cores(tmp_path) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores(tmp_path) == 1


def test_this_machine_has_some() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
