"""Git says whether a file is ignored; where it cannot, or does not in time, the file is taken for one that is not."""

from pathlib import Path

import pytest

from lsp_server import git_ignored
from lsp_server.git_ignored import GitIgnored, folder_under_git
from tests.lsp_server.repository import repository, track


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path, "local/", "*.out", "!kept.out", "tracked.py")


async def ignored(path: Path) -> bool:
    folder = folder_under_git(path)
    return folder is not None and await GitIgnored().ask(path, folder)


async def test_what_git_ignores_is_ignored(project: Path) -> None:
    (project / "local").mkdir()
    assert await ignored(project / "a.out")
    assert await ignored(project / "é 漢.out")
    assert await ignored(project / "local" / "deep" / "new.py"), "in a folder that does not exist yet"
    assert not await ignored(project / "kept.out")
    assert not await ignored(project / "main.py")
    assert not await ignored(project / ".git" / "COMMIT_EDITMSG")


async def test_a_tracked_file_is_not_ignored_whatever_the_patterns_say(project: Path) -> None:
    (project / "tracked.py").touch()
    assert await ignored(project / "tracked.py")
    track(project, "tracked.py")
    assert not await ignored(project / "tracked.py")


async def test_an_editor_that_git_has_started_asks_about_its_own_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/.git/index")
    assert await ignored(project / "a.out")


def test_outside_a_repository_git_is_not_asked(tmp_path: Path) -> None:
    assert folder_under_git(tmp_path / "a.out") is None


async def test_without_git_nothing_is_ignored(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    assert not await ignored(project / "a.out")


async def test_a_git_that_does_not_answer_is_ended(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(git_ignored, "ANSWER_SECONDS", 0.05)
    assert not await ignored(project / "a.out")
    assert "git has not told" in caplog.text
