"""`draftline bench --replay` from options to tables."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from decoder.bench.command import bench
from decoder.bench.recording import Recording
from decoder.bench.replay_command import curves_named
from tests.decoder.bench.test_recording import HEADER, TEXTS
from tests.fakes import byte_tokenizer

ROWS = [
    {"id": "one", "lang": "go", "path": "a.go", "prefix": "xone = ", "middle": "xone"},
    {"id": "two", "lang": "go", "path": "a.go", "prefix": "xtwo = ", "middle": "12345"},
]


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of tasks, and a configuration whose model has a tokenizer and nothing else."""
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").touch()
    monkeypatch.setattr("decoder.bench.replay_command._tokenizer", lambda _model: byte_tokenizer())
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(bench)
    return CliRunner().invoke(app, arguments)


def test_drafts_are_graded_on_what_was_written_without_a_model(tasks: Path) -> None:
    result = run(str(tasks), "--replay", "written", "--gamma", "3,1", "--json", "-", "--cost", "flat,linear")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["replay"], found["settings"]["tasks"]) == ("written", 2)
    assert list(found["curves"]) == ["flat", "linear"]
    # xone: x, o, nothing to draft from two tokens alone ("= x" is new), then "xo" was seen: n, and e follows
    assert list(found["curves"]["flat"]["modes"]) == ["lookup 3", "lookup 1"]
    assert found["curves"]["flat"]["modes"]["lookup 3"]["tokens"] == 9
    assert "the target writes exactly the known text" in found["assumptions"]


def test_a_table_says_what_was_assumed(tasks: Path) -> None:
    result = run(str(tasks), "--replay", "written", "--by-language")
    assert result.exit_code == 0, result.output
    assert "cost: flat" in result.stdout
    assert "  go " in result.stdout
    assert "lookup: at its slowest " in result.stdout
    assert "replay of written, assumed: the target writes exactly the known text; greedy" in result.stdout


def test_recorded_texts_bring_their_cost_curve(tasks: Path, tmp_path: Path) -> None:
    Recording(HEADER, TEXTS).write(tmp_path / "record.jsonl.gz")
    result = run(str(tasks), "--replay", str(tmp_path / "record.jsonl.gz"), "--json", "-", "--limit", "1")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["curves"]["measured"]["milliseconds"] == [3.0, 4.5]
    assert found["curves"]["measured"]["modes"]["lookup"]["tokens"] == 3
    assert found["recorded"]["model"] == "small"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--peers", "all"], 2, "--peers needs the model"),
        (["--record", "file"], 2, "--record needs the model"),
        (["--temperature", "1"], 2, "--temperature needs the model"),
        (["--cost", "steep"], 2, "expected some of measured, flat, int8, int4, linear"),
        (["--modes", "plain"], 1, "name a mode that drafts"),
        (["--modes", "model"], 1, "needs a draft model"),
        (["--wholecopy"], 1, "name the folder around tasks.jsonl"),
    ],
)
def test_what_a_replay_cannot_do_is_one_sentence(tasks: Path, arguments: list[str], code: int, said: str) -> None:
    result = run(str(tasks), "--replay", "written", *arguments)
    assert result.exit_code == code
    assert said in result.stderr


def test_a_missing_recording_is_told_before_anything_else_is_done(tasks: Path) -> None:
    result = run(str(tasks), "--replay", "nowhere.jsonl")
    assert (result.exit_code, "there is no such file" in result.stderr) == (1, True)


def test_a_cost_curve_without_a_replay_is_wrong_usage(tasks: Path) -> None:
    result = run(str(tasks), "--cost", "flat")
    assert (result.exit_code, "--cost is what passes cost in a --replay" in result.stderr) == (2, True)


def test_curves_are_named_once_each() -> None:
    assert curves_named("int8, flat") == ("int8", "flat")
    with pytest.raises(typer.Exit):
        curves_named("flat,flat")
