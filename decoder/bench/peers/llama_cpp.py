"""llama.cpp on the CPU: `llama-server` on the loopback, plain or with n-gram lookup."""

import atexit
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decoder.bench.peers.gguf_file import gguf_file
from decoder.bench.peers.names import PeerName
from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings, Ready, peer_cache

NAMED_BY = "DRAFTLINE_LLAMA_CPP"
BUILT_FROM = "built-from.txt"
"""Beside programs of our own build, which do not know their version."""

_START_SECONDS = 300.0
_HOST = "127.0.0.1"
_LOOKUP = ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "3", "--spec-ngram-simple-size-m", "5")
"""The best of the types and sizes that were tried (`docs/experiments.md`). Its own default, 12 tokens in a row, hardly
ever finds anything in 600 tokens of source code."""


def build_folder() -> Path:
    """Where `make peers` puts the programs."""
    return peer_cache() / "llama-cpp"


def find_server() -> Path:
    """The program: named by DRAFTLINE_LLAMA_CPP (it or its folder), built by `make peers`, or on the PATH.

    Raises PeerError where there is none.
    """
    if named := os.environ.get(NAMED_BY):
        places = [Path(named), Path(named) / "llama-server"]
    else:
        places = [build_folder() / "bin" / "llama-server", Path(shutil.which("llama-server") or "")]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    where = f"{NAMED_BY} names {named!r}" if named else "neither built nor on the PATH"
    raise PeerError(f"no llama-server ({where}): build it with `make peers`, or name its folder in {NAMED_BY}")


class LlamaCpp:
    """One server with one slot, weights in ordinary memory."""

    def __init__(self, name: PeerName, settings: PeerSettings) -> None:
        self._name = name
        self._settings = settings
        self._port = 0

    def load(self) -> Ready:
        """As `Peer.load`."""
        server = find_server()
        started = time.perf_counter()
        file = gguf_file(Path(self._settings.model), self._name.precision, Path(self._settings.cache))
        preparing = time.perf_counter() - started
        self._port = _free_port()
        process = subprocess.Popen(self._command(server, file), stdin=subprocess.DEVNULL)
        atexit.register(process.kill)
        self._wait(process)
        return Ready({"llama.cpp": _version(server)}, preparing)

    def continue_(self, prompt_ids: Sequence[int], max_tokens: int) -> PeerRun:
        """As `Peer.continue_`, timed by the server's own clock."""
        request = {
            "prompt": list(prompt_ids),
            "n_predict": max_tokens,
            "temperature": 0.0,
            "top_k": 1,
            "cache_prompt": False,  # every prompt is cold; its tokens then follow a cached one
            "return_tokens": True,
        }
        answer = self._ask("POST", "/completion", request)
        tokens, timings = tuple(answer["tokens"]), answer["timings"]
        return PeerRun(
            tokens, int(timings["predicted_n"]) - 1, timings["prompt_ms"] / 1000, timings["predicted_ms"] / 1000
        )

    def _command(self, server: Path, file: Path) -> list[str]:
        threads = str(self._settings.threads)
        return [
            *(str(server), "--model", str(file), "--host", _HOST, "--port", str(self._port)),
            *("--threads", threads, "--threads-batch", threads, "--parallel", "1"),
            *("--ctx-size", str(self._settings.context_tokens), "--cache-ram", "0"),
            *("--load-mode", "none", "--no-ui"),  # a mapped file has no huge pages
            *(_LOOKUP if self._name.mode == "lookup" else ()),
        ]

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise PeerError(f"llama-server ended with code {process.returncode} while it was loading")
            try:
                self._ask("GET", "/health")
            except (OSError, PeerError):
                time.sleep(0.02)
            else:
                return
        raise PeerError(f"llama-server was not ready after {_START_SECONDS:g} s")

    def _ask(self, method: str, path: str, request: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection(_HOST, self._port)
        try:
            body = None if request is None else json.dumps(request)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise PeerError(f"llama-server answered {response.status}: {text[:200]}")
        return json.loads(text)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _version(server: Path) -> str:
    note = server.with_name(BUILT_FROM)
    if note.exists():
        return note.read_text(encoding="utf-8").strip()
    said = subprocess.run([server, "--version"], capture_output=True, text=True, check=False)
    lines = (said.stdout + said.stderr).splitlines()
    return next((line.removeprefix("version:").strip() for line in lines if line.startswith("version:")), "unknown")
