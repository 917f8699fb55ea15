"""The commands from outside: exit codes, one sentence for an error, nothing left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
        (("complete", "a.py:x:1"), 2, "'a.py:x:1' is not FILE:LINE:COL"),
        (("complete", "a.py:1:1", "--gamma", "-1"), 2, "'-1' is neither auto nor a number"),
        (("complete", "a.py:1:1", "--gamma", "9" * 5000), 2, "is neither auto nor a number"),
        (("bench", "missing"), 1, "missing does not exist"),
        (("bench", "missing", "--modes", "plain,plain"), 2, "each once"),
        (("bench", "missing", "--modes", "warp"), 2, "expected some of plain, undrafted, lookup"),
        (("bench", "missing", "--peers", "vllm"), 2, "no peer 'vllm'"),
        (("bench", "missing", "--peers", "all", "--temperature", "1"), 2, "leave out --temperature"),
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


def test_doctor_asks_the_server_where_there_is_one(home: Path) -> None:
    config = home / "remote.toml"
    table = '[engine]\nkind = "remote"\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "NAME"\nprompt_family = "prefix"\n'
    config.write_text(table, encoding="utf-8")
    done = run(home, "doctor", DRAFTLINE_CONFIG=str(config))
    assert done.returncode == 1
    assert "http://127.0.0.1:1/v1 cannot be reached" in done.stdout
    assert "torch" not in done.stdout
    assert "models pull" not in done.stdout
    (home / "a.py").write_text("x = \n", encoding="utf-8")
    completed = run(home, "complete", f"{home / 'a.py'}:1:5", DRAFTLINE_CONFIG=str(config))
    assert completed.returncode == 1
    assert "http://127.0.0.1:1/v1 cannot be reached" in sentence(completed)


def test_stop_without_a_decoder_is_no_error(home: Path) -> None:
    done = run(home, "stop")
    assert (done.returncode, done.stdout) == (0, "no decoder is running\n")


def test_several_may_stop_it_at_once(home: Path) -> None:
    # the second one found no process to signal, and gave up on it
    assert run(home, "decoder").returncode == 0
    with ThreadPoolExecutor() as threads:
        ends = list(threads.map(lambda _: run(home, "stop"), range(4)))
    assert [end.stderr for end in ends] == [""] * 4
    assert {end.stdout for end in ends} <= {"the decoder has stopped\n", "no decoder is running\n"}


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


def test_a_decoder_that_was_killed_is_followed_by_another(home: Path) -> None:
    killed = int(run(home, "decoder").stdout.split()[1])
    os.kill(killed, signal.SIGKILL)
    left = {path.name for path in (home / "run" / "draftline").iterdir()}
    assert {"decoder.lock", "decoder.pid", "decoder.sock"} <= left, "it had no time to clean up"
    assert run(home, "stop").stdout == "no decoder is running\n"
    started = run(home, "decoder")
    assert started.returncode == 0, started.stderr
    assert int(started.stdout.split()[1]) != killed


def test_stop_ends_a_decoder_that_hangs(home: Path) -> None:
    pid = int(run(home, "decoder").stdout.split()[1])
    os.kill(pid, signal.SIGSTOP)  # it neither answers nor handles SIGTERM
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


def test_stop_ends_a_decoder_that_loads_a_large_model(home: Path) -> None:
    # it said "stopped" while the process stayed, and its memory with it, until the model was loaded; or the message was
    # lost, since the command hung up before the decoder had read it, and the decoder was killed 15 s later
    script = "import time, decoder.decoder_command as c; c._load = lambda *_: time.sleep(60); c.decoder(True)"
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(home / "run"), "XDG_STATE_HOME": str(home / "state")}
    assert run(home, "stop").returncode == 0  # makes the folders
    with subprocess.Popen([sys.executable, "-c", script], env=environment) as process:
        deadline = time.monotonic() + 30
        while not (home / "run" / "draftline" / "decoder.sock").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert run(home, "stop").stdout == "the decoder has stopped\n"
        assert process.wait(timeout=5) == 0


def test_a_decoder_started_in_the_background_logs_at_the_level_asked_for(home: Path) -> None:
    # the level was dropped unless it stayed in the foreground
    assert run(home, "decoder", "--log-level", "debug").returncode == 0
    assert " DEBUG " in (home / "state" / "draftline" / "decoder.log").read_text(encoding="utf-8")


def test_the_log_is_set_aside_when_it_is_full(home: Path) -> None:
    log = home / "state" / "draftline" / "decoder.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x" * 1_000_000)
    run(home, "decoder")
    assert log.with_suffix(".log.1").stat().st_size == 1_000_000
    assert log.stat().st_size < 10_000


def test_the_decoder_is_on_its_own_and_takes_no_code_from_where_it_starts(home: Path) -> None:
    (home / "decoder").mkdir()
    (home / "decoder" / "__init__.py").write_text("raise SystemExit('not ours')", encoding="utf-8")
    started = run(home, "decoder", HOME=str(home))
    assert started.returncode == 0, started.stderr
    pid = int(started.stdout.split()[1])
    assert os.getsid(pid) == pid, "closing the editor's terminal does not reach it"
    assert Path(f"/proc/{pid}/cwd").readlink() == home


def test_directories_that_cannot_be_used_are_one_sentence(home: Path) -> None:
    (home / "file").touch()
    done = run(home, "decoder", "--foreground", XDG_STATE_HOME=str(home / "file" / "state"))
    assert done.returncode == 1
    assert "set XDG_STATE_HOME" in sentence(done)
    (home / "run" / "draftline").mkdir(mode=0o700, exist_ok=True)
    (home / "run" / "draftline" / "decoder.lock").mkdir()
    done = run(home, "stop")
    (home / "run" / "draftline" / "decoder.lock").rmdir()
    assert done.returncode == 1
    assert "set XDG_RUNTIME_DIR" in sentence(done)


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
