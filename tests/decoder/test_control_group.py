"""Which folders limit a process (what they say of cores and memory: test_cores, plan/test_found)."""

from pathlib import Path

from decoder.control_group import ControlGroup, setting


def test_a_group_is_followed_by_those_around_it_each_version_in_its_own_place(tmp_path: Path) -> None:
    membership = tmp_path / "membership"
    membership.write_text("7:cpu,cpuacct:/a/b\n3:memory:/c\n0::/d\n", encoding="utf-8")
    group = ControlGroup(tmp_path, membership)
    assert list(group.folders()) == [tmp_path / "d", tmp_path]
    assert list(group.folders("cpu")) == [tmp_path / "cpu" / "a" / "b", tmp_path / "cpu" / "a", tmp_path / "cpu"]
    assert list(group.folders("memory")) == [tmp_path / "memory" / "c", tmp_path / "memory"]
    assert list(group.folders("pids")) == [tmp_path / "pids"]


def test_what_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert setting(tmp_path / "absent") == setting(tmp_path) == setting(Path("a\0b")) == ""
