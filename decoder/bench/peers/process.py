"""A peer's process as the bench sees it: questions with a time limit, and never a wait without end."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Self

from decoder.bench.peers.messages import Continue, Refusal, Reply, Request, decode_reply, encode_request
from decoder.bench.peers.peer import PeerError, PeerRun, PeerSettings, Ready

LOAD_SECONDS = 600.0
"""Time to make a file of another precision and to load it."""

CONTINUE_SECONDS = 180.0
"""Time for one prompt and a few dozen tokens; beyond it the peer hangs."""

LAST_SECONDS = 5.0
"""A process that says nothing any more has ended by then, or never will."""

WORKER: Sequence[str] = (sys.executable, "-P", "-m", "decoder.bench.peers.worker")


def environment(threads: int) -> dict[str, str]:
    """The environment of every peer: huge pages and the number of threads, nothing else of ours.

    Huge pages are worth a factor of up to two to each of them where the system says `madvise`.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    numbers = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    pages = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE": "1"}
    return inherited | numbers | pages


class PeerProcess:
    """One peer in a process of its own, with its children in a group that ends with it.

    After any PeerError the process is gone.
    """

    def __init__(
        self,
        name: str,
        env: Mapping[str, str],
        *,
        command: Sequence[str] = WORKER,
        continue_seconds: float = CONTINUE_SECONDS,
    ) -> None:
        self._continue_seconds = continue_seconds
        self._started = time.perf_counter()
        self._last_words = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `close`
        self._process = subprocess.Popen(
            [*command, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._last_words,
            env=dict(env),
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def load(self, settings: PeerSettings) -> tuple[Ready, float]:
        """Makes the peer ready; answers also the seconds from the start of its process, without making files.

        Raises PeerError with the reason where that cannot be done.
        """
        reply = self._ask(settings, LOAD_SECONDS)
        if not isinstance(reply, Ready):
            raise self._end(f"it answered {type(reply).__name__} to its settings")
        return reply, time.perf_counter() - self._started - reply.preparing_seconds

    def continue_(self, prompt_ids: Sequence[int], max_tokens: int) -> PeerRun:
        """As `Peer.continue_`, but raises PeerError for whatever goes wrong, a silent process included."""
        reply = self._ask(Continue(tuple(prompt_ids), max_tokens), self._continue_seconds)
        if not isinstance(reply, PeerRun):
            raise self._end(f"it answered {type(reply).__name__} to a prompt")
        return reply

    def close(self) -> None:
        """Ends the process and its children; does nothing the second time."""
        if self._last_words.closed:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # its children too, though it may be gone itself
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._last_words.close()

    def _ask(self, request: Request, timeout: float) -> Reply:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encode_request(request))
            self._process.stdin.flush()
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise self._end(f"no answer within {timeout:g} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise self._end(self._ending())
        try:
            reply = decode_reply(line)
        except ValueError as error:
            raise self._end(str(error)) from error
        if isinstance(reply, Refusal):
            self.close()
            raise PeerError(reply.reason)
        return reply

    def _ending(self) -> str:
        try:
            return f"its process ended with code {self._process.wait(timeout=LAST_SECONDS)}"
        except subprocess.TimeoutExpired:
            return "its process closed its output"

    def _end(self, reason: str) -> PeerError:
        self._last_words.seek(0, os.SEEK_SET)
        said = self._last_words.read().decode("utf-8", "replace").strip().splitlines()
        self.close()
        return PeerError(f"{reason}; its last words: {said[-1][:200]}" if said else reason)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")  # the process has ended
