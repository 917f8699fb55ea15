"""The commands from outside: exit codes, one sentence for an error, nothing left behind."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    """Private directories with a short path, as the socket needs."""
    folder = Path(tempfile.mkdtemp(prefix="dl-"))
    yield folder
    run(folder, "stop")
    shutil.rmtree(folder)


def run(home: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """`draftline ARGUMENTS` with every directory inside `home`."""
    names = {
        "XDG_RUNTIME_DIR": "run",
        "XDG_STATE_HOME": "state",
        "XDG_CONFIG_HOME": "config",
        "XDG_CACHE_HOME": "cache",
    }
    places = {name: str(home / folder) for name, folder in names.items()}
    for place in places.values():
        Path(place).mkdir(exist_ok=True, mode=0o700)
    return subprocess.run(
        [sys.executable, "-m", "lsp_server", *arguments],
        env={**os.environ, **places, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """What stderr says; asserts that it is one line and no traceback."""
    text = done.stderr.strip()
    assert "Traceback" not in text
    assert len(text.splitlines()) == 1, text
    return text


def test_help_lists_every_command(home: Path) -> None:
    done = run(home, "--help")
    assert done.returncode == 0
    for name in ("serve", "decoder", "stop", "complete", "bench", "models", "doctor"):
        assert f" {name} " in done.stdout


def test_without_a_model_complete_says_how_to_get_one(home: Path) -> None:
    (home / "a.py").write_text("x = \n", encoding="utf-8")
    done = run(home, "complete", f"{home / 'a.py'}:1:5")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "draftline models pull smollm2-135m" in sentence(done)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("complete", "a.py"), 2, "is not FILE:LINE:COL"),
        (("complete", "missing.py:1:1"), 1, "missing.py does not exist"),
        (("complete", "a.py:1:1", "--draft", "magic"), 2, "'magic' is none of none, lookup"),
        (("complete", "a.py:1:1", "--gamma", "-1"), 2, "'-1' is neither auto nor a number"),
        (("bench", "missing"), 1, "missing does not exist"),
        (("bench", "missing", "--modes", "plain,plain"), 2, "each once"),
        (("bench", "missing", "--modes", "warp"), 2, "expected some of plain, lookup"),
        (("bench", "missing", "--peers", "vllm"), 2, "no peers"),
        (("decoder", "--log-level", "loud"), 2, "none of debug, info"),
        (("models", "path", "nonesuch"), 1, "nonesuch"),
    ],
)
def test_wrong_usage_is_told_in_one_sentence(home: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run(home, *arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert said in sentence(done)


@pytest.mark.parametrize("arguments", [("complete",), ("complete", "a:1:1", "--max-tokens", "0"), ("frobnicate",)])
def test_usage_that_the_parser_refuses_has_exit_code_2(home: Path, arguments: tuple[str, ...]) -> None:
    done = run(home, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_broken_configuration_is_named_with_file_and_key(home: Path) -> None:
    config = home / "broken.toml"
    config.write_text('dtype = "float99"\n', encoding="utf-8")
    (home / "a.py").write_text("x", encoding="utf-8")
    done = run(home, "complete", f"{home / 'a.py'}:1:1", DRAFTLINE_CONFIG=str(config))
    assert done.returncode == 1
    said = sentence(done)
    assert str(config) in said
    assert "dtype" in said
    assert "float32, bfloat16" in said


def test_doctor_without_a_model_fails_and_names_the_next_step(home: Path) -> None:
    done = run(home, "doctor")
    assert done.returncode == 1
    assert "draftline models pull smollm2-135m" in done.stdout
    assert "Traceback" not in done.stderr


def test_stop_without_a_decoder_is_no_error(home: Path) -> None:
    done = run(home, "stop")
    assert (done.returncode, done.stdout) == (0, "no decoder is running\n")


def test_a_decoder_without_a_model_runs_and_says_what_is_missing(home: Path) -> None:
    started = run(home, "decoder")
    assert started.returncode == 0, started.stderr
    assert "decoder " in started.stdout
    again = run(home, "decoder")
    assert again.stdout.split()[1] == started.stdout.split()[1], "the same process"
    doctor = run(home, "doctor")
    assert doctor.returncode == 1
    assert "draftline models pull" in doctor.stdout
    second = run(home, "decoder", "--foreground")
    assert second.returncode == 1
    assert "already running" in second.stderr
    stopped = run(home, "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "the decoder has stopped\n")
    assert not (home / "run" / "draftline" / "decoder.sock").exists()


def test_stop_ends_a_decoder_that_hangs(home: Path) -> None:
    pid = int(run(home, "decoder").stdout.split()[1])
    os.kill(pid, 19)  # SIGSTOP: it neither answers nor handles SIGTERM
    script = (
        "import decoder.decoder_command as c, decoder.wire.connection as w;"
        "c.STOP_SECONDS = w.HANDSHAKE_SECONDS = 1.0; c.stop()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "XDG_RUNTIME_DIR": str(home / "run"), "XDG_STATE_HOME": str(home / "state")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "the decoder has stopped\n", done.stderr
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")


def test_the_version_is_printed(home: Path) -> None:
    assert run(home, "--version").stdout == "draftline 0.1.0\n"


def test_json_goes_to_stdout_alone(home: Path) -> None:
    tasks = home / "tasks.jsonl"
    tasks.write_text(
        json.dumps({"id": "a", "lang": "python", "path": "a.py", "prefix": "x = "}) + "\n", encoding="utf-8"
    )
    done = run(home, "bench", str(tasks), "--json", "-")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "models pull" in sentence(done)
