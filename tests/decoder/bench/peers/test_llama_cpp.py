"""The peer llama.cpp over a server that only pretends, and where the real one is looked for."""

import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from decoder.bench.peers.llama_cpp import build_folder, find_server
from decoder.bench.peers.llama_cpp_build import cmake_arguments
from decoder.bench.peers.messages import decode_reply, encode_request
from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings, Ready
from decoder.bench.peers.process import WORKER, PeerProcess, environment
from tests.decoder.models.tiny_gguf import write_tiny_gguf

NAME = "llama.cpp-plain-q4_1"


def install(folder: Path) -> Path:
    """A llama-server in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "llama-server"
    script = Path(__file__).with_name("fake_llama_server.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No llama-server named, built or on the PATH."""
    monkeypatch.delenv("DRAFTLINE_LLAMA_CPP", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))


def settings(model: Path) -> PeerSettings:
    model.mkdir()
    write_tiny_gguf(model / "source.gguf")
    return PeerSettings(str(model), "", stop_ids=(), threads=1, context_tokens=128, cache=str(model))


def test_a_text_is_timed_by_the_servers_own_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTLINE_LLAMA_CPP", str(install(tmp_path / "bin").parent))
    with PeerProcess(NAME, environment(1)) as process:
        ready, _ = process.load(settings(tmp_path / "tiny"))
        assert ready.versions == {"llama.cpp": "77 (abc)"}
        assert process.continue_([1, 2], 5) == PeerRun((3, 4, 5, 6, 7), 4, 0.6, 0.04)


def test_a_bench_that_is_killed_leaves_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTLINE_LLAMA_CPP", str(install(tmp_path / "bin")))
    served = filelock.FileLock(tmp_path / "tiny" / "source.gguf.served")
    with subprocess.Popen(
        [*WORKER, NAME], encoding="utf-8", env=environment(1), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(encode_request(settings(tmp_path / "tiny")))
        worker.stdin.flush()
        assert isinstance(decode_reply(worker.stdout.readline()), Ready)
        with pytest.raises(filelock.Timeout):
            served.acquire(timeout=0)
        worker.stdin.close()  # what the system does for a process that has gone
        assert worker.wait(timeout=30) == 0
    served.acquire(timeout=10)
    served.release()


def test_a_server_that_cannot_load_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTLINE_LLAMA_CPP", str(install(tmp_path / "bin")))
    with (
        PeerProcess(NAME, environment(1)) as process,
        pytest.raises(PeerError, match="llama-server ended with code 1 while it was loading"),
    ):
        process.load(settings(tmp_path / "broken"))


@pytest.mark.usefixtures("nowhere")
def test_the_server_is_the_one_named_or_built_or_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=r"no llama-server \(neither built nor on the PATH\)"):
        find_server()
    on_path = install(tmp_path / "path")
    assert find_server() == on_path
    built = install(build_folder() / "bin")
    assert find_server() == built
    named = install(tmp_path / "named")
    monkeypatch.setenv("DRAFTLINE_LLAMA_CPP", str(named.parent))
    assert find_server() == named


@pytest.mark.usefixtures("nowhere")
def test_a_wrong_name_is_not_replaced_by_another_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(tmp_path / "path")
    monkeypatch.setenv("DRAFTLINE_LLAMA_CPP", str(tmp_path / "mistyped"))
    with pytest.raises(PeerError, match=r"DRAFTLINE_LLAMA_CPP names .*mistyped"):
        find_server()


def test_the_build_names_instruction_sets_and_never_amx() -> None:
    # with GGML_NATIVE the build took AMX where the machine did not let it be used, and died of SIGILL
    arguments = cmake_arguments({"avx2", "fma", "avx512f", "amx_tile", "amx_int8"})
    assert {"-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_AVX512=ON", "-DGGML_AVX512_BF16=OFF"} <= set(arguments)
    assert not [argument for argument in arguments if "AMX" in argument]


def test_where_nothing_is_known_of_the_processor_the_compiler_decides() -> None:
    assert not [argument for argument in cmake_arguments(()) if "GGML" in argument]
