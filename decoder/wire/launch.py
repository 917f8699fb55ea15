"""Starts the shared decoder once, detached from whoever needed it first."""

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from decoder.environment import child_environment
from decoder.wire.compatibility import must_replace
from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.messages import Stop

START_SECONDS = 30.0
"""A decoder that has not begun to listen by then has failed (models load later, in the background)."""

STOP_SECONDS = 10.0
"""A decoder that has not left by then does not listen to `Stop`."""

DECODER_COMMAND: Sequence[str] = (sys.executable, "-P", "-m", "decoder", "decoder", "--foreground")
"""`-P`: no file in the folder it starts in can stand in for one of our modules."""

_ABSENT = (FileNotFoundError, ConnectionRefusedError, ConnectionResetError)


async def connect_or_start(
    endpoint: Endpoint, *, client: str, version: str, command: Sequence[str] = DECODER_COMMAND
) -> Connection:
    """A connection to the running decoder, or to one started now under the start lock.

    An older decoder that nobody else uses is replaced. Raises WireError where none can be started (the text names
    the log to read) or the running one cannot be used, or as `connect`.
    """
    connection = await _join(endpoint, client=client, version=version, replace=False)
    if connection is not None:
        return connection
    async with _lock(endpoint.start_lock, START_SECONDS, "another process has been starting the decoder"):
        # somebody else may have started or replaced it while we waited for the lock
        connection = await _join(endpoint, client=client, version=version, replace=True)
        if connection is not None:
            return connection
        try:
            endpoint.clear()
            process = _spawn(command)
        except OSError as error:
            raise WireError(f"the decoder could not be started: {error}; see {log_path().parent}") from error
        return await _wait_for(process, endpoint, client=client, version=version)


async def stop(connection: Connection, endpoint: Endpoint) -> None:
    """Asks the decoder to leave and waits until it has. Raises WireError where it stays."""
    try:
        connection.send(Stop())
        async with asyncio.timeout(STOP_SECONDS):
            while await connection.receive() is not None:
                pass
    except ConnectionError:
        pass  # it was leaving already
    except TimeoutError as error:
        raise WireError(f"the decoder (process {connection.welcome.pid}) does not stop; end that process") from error
    finally:
        await connection.abort()
    async with _lock(endpoint.owner_lock, STOP_SECONDS, f"the decoder (process {connection.welcome.pid}) is leaving"):
        pass


def log_path() -> Path:
    """The decoder's log file; a decoder that fails before it can log leaves its last words beside it."""
    from platformdirs import user_state_path

    return user_state_path("draftline", appauthor=False) / "decoder.log"


async def _join(endpoint: Endpoint, *, client: str, version: str, replace: bool) -> Connection | None:
    """A connection to the running decoder, if there is one to use; `replace` stops an outdated one."""
    try:
        connection = await connect(endpoint, client=client, version=version, any_protocol=True)
    except _ABSENT:
        return None
    try:
        if not must_replace(connection.welcome, version):
            return connection
    except WireError:
        await connection.abort()
        raise
    if replace:
        await stop(connection, endpoint)
    else:
        await connection.abort()
    return None


@contextlib.asynccontextmanager
async def _lock(path: Path, seconds: float, owner: str) -> AsyncIterator[None]:
    """Holds the lock file. Asks again and again rather than wait in a thread, which would outlive a cancellation."""
    from filelock import FileLock, Timeout

    lock = FileLock(path, thread_local=False)
    deadline = asyncio.get_running_loop().time() + seconds
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            if asyncio.get_running_loop().time() > deadline:
                raise WireError(f"{owner} for {seconds:.0f} s; run `draftline stop`") from error
            await asyncio.sleep(0.05)
        except OSError as error:
            raise WireError(f"cannot lock {path}: {error.strerror}; remove it or set XDG_RUNTIME_DIR") from error
    try:
        yield
    finally:
        lock.release()


def _spawn(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """The decoder outlives us: its own session, no terminal, no pipe of ours, no folder of ours."""
    log = log_path()
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = child_environment()
    if config := environment.get("DRAFTLINE_CONFIG"):  # it is meant from where we are, not from where the decoder runs
        environment["DRAFTLINE_CONFIG"] = str(Path(config).absolute())
    with log.with_suffix(".stderr").open("wb") as last_words:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=last_words,
            stderr=last_words,
            cwd=Path.home() if Path.home().is_dir() else None,
            env=environment,
            start_new_session=True,
        )
    # whoever started it may live longer than the decoder: without this it would stay as a zombie
    threading.Thread(target=process.wait, name="decoder reaper", daemon=True).start()
    return process


async def _wait_for(process: subprocess.Popen[bytes], endpoint: Endpoint, *, client: str, version: str) -> Connection:
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        try:
            return await connect(endpoint, client=client, version=version)
        except _ABSENT:
            pass
        if process.poll() not in (None, 0):
            raise WireError(
                f"the decoder could not start ({_last_words()}); see {log_path()} and run `draftline doctor`"
            )
        if asyncio.get_running_loop().time() > deadline:
            process.kill()
            raise WireError(f"the decoder did not listen within {START_SECONDS:.0f} s; see {log_path()}")
        await asyncio.sleep(0.02)


def _last_words() -> str:
    try:
        lines = log_path().with_suffix(".stderr").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it said nothing"
