"""`draftline doctor --plan`: what is printed, and how the command ends."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from decoder.doctor_command import doctor

GIB = 2**30


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DRAFTLINE_CONFIG", raising=False)


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command()(doctor)
    return CliRunner().invoke(app, [*arguments])


def figures(output: str, row: str) -> list[float]:
    line = next(line for line in output.splitlines() if line.startswith(row))
    return [float(figure) for figure in re.findall(r"([\d.]+) [GK]iB", line)]


def test_figures_of_the_founding_pair_agree_with_a_calculation_by_hand() -> None:
    output = run("--plan", "llama3-70b", "--devices", "h200:1").stdout
    large, small = 70_553_706_496, 8_030_261_248
    large_tables, small_tables = 2 * 128256 * 8192, 2 * 128256 * 4096  # not quantised
    by_hand: dict[str, list[float]] = {
        "weights in float32": [4 * large, 4 * small],
        "weights in bfloat16": [2 * large, 2 * small],
        "weights in int8": [large + large_tables, small + small_tables],
        "weights in int4": [
            0.53125 * (large - large_tables) + 2 * large_tables,
            0.53125 * (small - small_tables) + 2 * small_tables,
        ],
    }
    for row, sizes in by_hand.items():
        assert figures(output, row) == [pytest.approx(size / GIB, rel=0.03) for size in sizes], row
    assert figures(output, "KV of a token") == [2 * 80 * 8 * 128 * 2 / 1024, 2 * 32 * 8 * 128 * 2 / 1024]


def test_a_pair_that_fits_ends_with_0_and_says_where_things_go() -> None:
    result = run("--plan", "llama3-70b", "--devices", "h200:1")
    assert result.exit_code == 0
    assert re.search(r"^> +int8 bfloat16 +8\d\.\d GiB +fits +8,192 +68$", result.stdout, re.MULTILINE)
    assert re.search(r"^ +bfloat16 bfloat16 +149\.\d GiB +12\.\d GiB over", result.stdout, re.MULTILINE)
    assert re.search(r"^cuda:0 h200 +80 +67\.7 +15\.0", result.stdout, re.MULTILINE)
    assert "llama3-70b in int8 on cuda:0" in result.stdout


def test_a_pair_that_does_not_fit_ends_with_1_after_the_figures() -> None:
    result = run("--plan", "llama3-70b", "--devices", "rtx4090:1")
    assert result.exit_code == 1
    assert "17.8 GiB over" in result.stdout
    assert "llama3-70b does not fit rtx4090-24:1: even alone in int4 it needs 39.8 GiB" in result.stderr
    assert "rtx4090-24:2 would do" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "llama9-70b", "--devices", "h200"], "unknown model 'llama9-70b'"),
        (["--plan", "llama3-70b", "--devices", "h900"], "unknown device 'h900': use h200,"),
        (["--devices", "h200"], "--devices needs --plan PAIR"),
    ],
)
def test_wrong_names_end_with_2(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_settings_that_cannot_be_read_end_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(tmp_path / "missing.toml"))
    result = run("--plan", "llama3-70b", "--devices", "h200")
    assert result.exit_code == 1
    assert "which does not exist" in result.stderr


def test_the_context_is_that_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.toml").write_text("context_tokens = 4096", encoding="utf-8")
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(tmp_path / "own.toml"))
    assert figures(run("--plan", "llama3-70b", "--devices", "h200").stdout, "KV of 4,096 tokens") == [1.2, 0.5]


def test_this_machine_is_meant_where_no_devices_are_named() -> None:
    result = run("--plan", "smollm2-135m")
    assert result.exit_code == 0
    assert "smollm2-135m in" in result.stdout


@pytest.mark.parametrize("devices", ["h200:1", "rtx4090:1", "rtx6000ada:16", "t4:9,l4:7", "cpu:100000"])
def test_tables_fit_a_terminal_of_80_columns(devices: str) -> None:
    lines = run("--plan", "llama3.1-70b", "--devices", devices).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "…" in line]
