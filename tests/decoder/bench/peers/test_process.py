"""A peer's process: whatever it does, the bench gets an answer or a reason, and no process is left."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import filelock
import pytest

from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings
from decoder.bench.peers.process import WORKER, PeerProcess, environment

FAKE = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
NAME = "openvino-plain-fp16"
SETTINGS = PeerSettings(model="m", draft_model="", stop_ids=(), threads=1, context_tokens=128, cache="")


@contextmanager
def peer(behaviour: str, *, command: Sequence[str] = FAKE, continue_seconds: float = 30.0) -> Iterator[PeerProcess]:
    env = environment(1) | {"FAKE": json.dumps({NAME: behaviour})}
    with PeerProcess(NAME, env, command=command, continue_seconds=continue_seconds) as process:
        yield process


def test_it_loads_and_continues_a_prompt() -> None:
    with peer("good") as process:
        ready, seconds = process.load(SETTINGS)
        assert ready.versions == {"fastlib": "1.2"}
        assert seconds > 0
        assert process.continue_([1, 2], 4) == PeerRun((3, 4, 5, 6), 3, 0.5, 0.75)


def test_an_absent_library_is_the_reason() -> None:
    with (
        peer("absent") as process,
        pytest.raises(PeerError, match=r"^fastlib cannot be imported: pip install fastlib$"),
    ):
        process.load(SETTINGS)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("dies", "its process ended with code 1; its last words: out of luck"),
        ("babbles", "no message of the peers' protocol: 'loading 100 %'"),
        ("confused", "it answered Ready to a prompt"),
    ],
)
def test_a_peer_that_fails_is_a_reason(behaviour: str, reason: str) -> None:
    with peer(behaviour) as process:
        process.load(SETTINGS)
        with pytest.raises(PeerError) as raised:
            process.continue_([1], 4)
        assert str(raised.value) == reason


def test_a_peer_that_hangs_is_given_up() -> None:
    with peer("hangs", continue_seconds=0.1) as process:
        process.load(SETTINGS)
        with pytest.raises(PeerError, match=r"no answer within 0\.1 s"):
            process.continue_([1], 4)


def test_a_peer_that_closes_its_output_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoder.bench.peers.process.LAST_SECONDS", 0.1)
    with peer("closes") as process:
        process.load(SETTINGS)
        with pytest.raises(PeerError, match="its process closed its output"):
            process.continue_([1], 4)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_server_that_the_peer_started_ends_with_it(tmp_path: Path) -> None:
    lock = filelock.FileLock(tmp_path / "held")
    with peer(str(tmp_path / "held")) as process:
        process.load(SETTINGS)
        with pytest.raises(filelock.Timeout):
            lock.acquire(timeout=0)
    lock.acquire(timeout=10)
    lock.release()


def test_all_peers_have_the_same_memory_setting_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")  # how our own decoder likes it
    env = environment(3)
    assert env["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    assert env["OMP_NUM_THREADS"] == "3"
    assert "OMP_WAIT_POLICY" not in env


def test_the_real_worker_says_why_it_has_no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAFTLINE_LLAMA_CPP", str(tmp_path))
    with (
        PeerProcess("llama.cpp-plain-q4_1", environment(1), command=WORKER) as process,
        pytest.raises(PeerError, match=r"no llama-server .* build it with `make peers`"),
    ):
        process.load(SETTINGS)
