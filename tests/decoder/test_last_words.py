"""What a decoder that does not run has left behind."""

from pathlib import Path

import pytest

from decoder.last_words import last_words
from decoder.wire.launch import log_path

STAMP = "2026-11-30 12:00:00,000"
ERROR = f"{STAMP} ERROR decoder.loader: error: no model; run `draftline models pull`\n"
READY = f"{STAMP} INFO decoder.loader: ready: tiny is ready\n"
IDLE = f"{STAMP} INFO decoder.service: no client for 1200 s: leaving\n"


@pytest.fixture(autouse=True)
def own_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("DRAFTLINE_CONFIG", raising=False)
    log_path().parent.mkdir(parents=True)


def leave(log: str = "", stderr: str = "") -> None:
    log_path().write_text(log, encoding="utf-8")
    log_path().with_suffix(".stderr").write_text(stderr, encoding="utf-8")


def test_nothing_left_means_that_none_was_started() -> None:
    assert "the first editor" in last_words()


def test_a_mistake_in_the_settings_comes_first(tmp_path: Path) -> None:
    (tmp_path / "draftline" / "config.toml").write_text("speed = 9\n", encoding="utf-8")
    leave(ERROR)
    assert "'speed'" in last_words()
    assert "no model" not in last_words()


def test_the_last_error_in_the_log_is_told_with_the_log() -> None:
    leave(READY + ERROR.replace("no model", "older") + ERROR + IDLE)
    assert last_words().startswith("no model; run `draftline models pull`; see ")
    assert str(log_path()) in last_words()


def test_an_error_that_was_followed_by_a_model_that_was_ready_is_history() -> None:
    leave(ERROR + READY + IDLE)
    assert "no model" not in last_words()
    assert "the first editor" in last_words()


@pytest.mark.parametrize(
    "stderr",
    ["draftline: cannot write; set XDG_STATE_HOME\n", "Traceback (most recent call last):\n  x\nOSError: disk\n"],
)
def test_one_that_failed_before_it_could_log_is_heard(stderr: str) -> None:
    leave(READY, stderr)
    assert last_words().startswith(stderr.splitlines()[-1].removeprefix("draftline: "))


def test_the_warning_of_a_library_is_no_cause() -> None:
    leave(READY, "UserWarning: this is slow\n")
    assert "slow" not in last_words()
