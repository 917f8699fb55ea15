"""What a decoder that does not run has left behind."""

import os
from datetime import datetime
from pathlib import Path

import pytest

from decoder.config import DecoderConfig
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


def settings_of(stamp: str) -> Path:
    """A valid config.toml that was changed then, local time."""
    config = DecoderConfig.path()
    config.touch()
    changed = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").astimezone().timestamp()
    os.utime(config, (changed, changed))
    return config


def test_what_was_said_before_the_settings_were_changed_is_history() -> None:
    leave(ERROR)
    config = settings_of("2026-11-30 12:00:01")
    assert last_words().startswith(f"{config} is valid now")
    assert "no model" not in last_words()
    assert "the first editor" in last_words()


def test_what_was_said_after_that_is_the_cause() -> None:
    leave(ERROR)
    settings_of("2026-11-30 11:59:59")
    assert last_words().startswith("no model; ")


def test_a_complaint_about_settings_that_are_gone_is_history() -> None:
    config = DecoderConfig.path()
    leave(ERROR.replace("no model", f"{config}: there is no setting 'speed'"))
    assert "'speed'" not in last_words()
    assert "valid now" in last_words()


def test_what_failed_before_it_could_log_is_as_old_as_its_file() -> None:
    leave("", "draftline: cannot write\n")
    os.utime(log_path().with_suffix(".stderr"), (1000, 1000))
    assert last_words().startswith("cannot write")
    settings_of("2026-11-30 12:00:00")
    assert "cannot write" not in last_words()


def test_a_time_that_cannot_be_read_hides_no_error() -> None:
    leave(ERROR.removeprefix("2026"))
    settings_of("2026-11-30 12:00:01")
    assert last_words().startswith("no model; ")
