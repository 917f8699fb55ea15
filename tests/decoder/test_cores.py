"""Quotas as containers state them, in folders that look like the system's."""

import os
from pathlib import Path

import pytest

from decoder.control_group import ControlGroup
from decoder.cores import available_cores


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process bound to eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)


NO_GROUP = Path("/absent")


def version_2(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.max").write_text(text, encoding="ascii")
    return folder


def version_1(folder: Path, quota: str, period: str = "100000\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.cfs_quota_us").write_text(quota, encoding="ascii")
    (folder / "cpu.cfs_period_us").write_text(period, encoding="ascii")
    return folder


def member(folder: Path, text: str) -> Path:
    """As /proc/self/cgroup."""
    path = folder / "membership"
    path.write_text(text, encoding="utf-8")
    return path


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
        ("200000 100000 5\n", 2),
        ("nonsense\n", 8),
        (f"1{'0' * 400} 1\n", 8),
        ("", 8),
    ],
)
def test_a_quota_counts_in_whole_cores_at_least_one_and_never_more_than_there_are(
    tmp_path: Path, allowed: str, cores: int
) -> None:
    assert available_cores(ControlGroup(version_2(tmp_path, allowed), NO_GROUP)) == cores


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(("quota", "cores"), [("-1\n", 8), ("150000\n", 2), ("800000\n", 8), ("900000\n", 8)])
def test_the_older_form_is_read_too(tmp_path: Path, quota: str, cores: int) -> None:
    assert available_cores(ControlGroup(version_1(tmp_path / "cpu", quota).parent, NO_GROUP)) == cores


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(
    ("group", "cores"),
    [
        ("/user.slice/tight.service/inner.scope", 2),
        ("/user.slice/tight.service", 2),
        ("/user.slice/wide.service", 5),
        ("/user.slice", 5),
        ("/user.slice/unlimited:service", 5),
        ("/gone", 6),
        ("/", 6),
        ("/../outside", 6),
    ],
)
def test_the_tightest_quota_from_the_own_group_up_to_the_root_counts(tmp_path: Path, group: str, cores: int) -> None:
    # only the root was read, which outside of a container has no quota
    root = version_2(tmp_path / "cgroup", "600000 100000\n")
    version_2(root / "user.slice", "500000 100000\n")
    version_2(root / "user.slice" / "tight.service", "150000 100000\n")
    version_2(root / "user.slice" / "tight.service" / "inner.scope", "max 100000\n")
    version_2(root / "user.slice" / "wide.service", "700000 100000\n")
    version_2(root / "user.slice" / "unlimited:service", "max 100000\n")
    version_2(tmp_path / "outside", "100000 100000\n")
    assert available_cores(ControlGroup(root, member(tmp_path, f"0::{group}\n"))) == cores


@pytest.mark.usefixtures("eight")
def test_the_older_form_has_a_group_for_each_kind_of_resource(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    version_1(root / "cpu", "-1\n")
    version_1(root / "cpu" / "jobs", "300000\n")
    version_1(root / "cpu" / "other", "100000\n")
    lines = "5:cpuset:/other\n4:cpu,cpuacct:/jobs/7\n3:memory:/other\n0::/other\n"
    assert available_cores(ControlGroup(root, member(tmp_path, lines))) == 3
    assert available_cores(ControlGroup(root, member(tmp_path, "5:cpuset:/other\n"))) == 8


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize("group", ["/bäcker.service", "/form\x0cfeed", "/with:colon"])
@pytest.mark.parametrize("around", ["{}\n", "\n{}\n", "nonsense\n{}\n\n"])
def test_odd_names_and_lines_hide_no_quota(tmp_path: Path, group: str, around: str) -> None:
    # a name beyond ASCII hid all quotas, a line without colons was a traceback at every start
    root = version_2(tmp_path / "cgroup", "max 100000\n")
    version_2(root / group.lstrip("/"), "200000 100000\n")
    assert available_cores(ControlGroup(root, member(tmp_path, around.format(f"0::{group}")))) == 2


@pytest.mark.usefixtures("eight")
def test_without_quotas_it_is_the_cores_that_the_process_is_bound_to(tmp_path: Path) -> None:
    assert available_cores(ControlGroup(tmp_path, NO_GROUP)) == 8
    assert available_cores(ControlGroup(tmp_path / "absent", NO_GROUP)) == 8


def test_where_processes_cannot_be_bound_it_is_all_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert available_cores(ControlGroup(tmp_path, NO_GROUP)) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores(ControlGroup(tmp_path, NO_GROUP)) == 1


def test_this_machine_has_some() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
