"""`draftline decoder` and `draftline stop`: run or end the shared decoder of this user."""

import asyncio
import contextlib
import logging
import logging.handlers
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Annotated, NoReturn

import typer
from filelock import FileLock, Timeout

from decoder import version
from decoder.buffers import Buffers
from decoder.config import ConfigError, DecoderConfig
from decoder.engine import Engine, EngineError
from decoder.environment import set_environment
from decoder.service import AlreadyRunningError, Service
from decoder.telemetry import OnUnanswered, TelemetryLog, Unanswered, nobody_told
from decoder.terminal import fail, out, plain_errors
from decoder.wire.connection import connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.launch import DECODER_COMMAND, connect_or_start, log_path
from decoder.wire.messages import Status, Stop

SETTLE_SECONDS = 2.0
SWITCH_SECONDS = 0.0005
"""How long a thread that indexes may keep a request from its turn (5 ms by default, several times a request)."""

STOP_SECONDS = 15.0
_log = logging.getLogger(__name__)


def decoder(
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay attached; on a terminal, log to it as well.")
    ] = False,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error: of a decoder that starts now.")] = "",
) -> None:
    """Run the shared decoder; without --foreground it starts in the background if none runs yet."""
    if log_level not in ("", "debug", "info", "warning", "error"):
        fail(f"--log-level {log_level!r} is none of debug, info, warning, error", code=2)
    with plain_errors():
        if foreground:
            _run(log_level)
        else:
            out.print(asyncio.run(_start(log_level)), markup=False)


def stop() -> None:
    """Stop the shared decoder, also one that no longer answers."""
    with plain_errors():
        endpoint = Endpoint.default()
        if not _is_owned(endpoint):
            out.print("no decoder is running")
            return
        if not asyncio.run(_ask_to_stop(endpoint)):
            _signal(endpoint, signal.SIGTERM)
        if not _wait_until_gone(endpoint, STOP_SECONDS):
            _signal(endpoint, getattr(signal, "SIGKILL", signal.SIGTERM))
            if not _wait_until_gone(endpoint, STOP_SECONDS):
                fail("the decoder does not answer and did not end; end its process by hand")
            endpoint.clear()
        out.print("the decoder has stopped")


def _run(log_level: str) -> NoReturn:
    set_environment()
    config = _process_settings()
    try:
        _log_to_file(log_level or config.log_level)
        telemetry = TelemetryLog.open(log_path().parent)
    except OSError as error:
        fail(f"cannot write to the state directory {log_path().parent}: {error.strerror}; set XDG_STATE_HOME")
    buffers = Buffers()

    async def load(progress: Callable[[str], None]) -> Engine:
        loop = asyncio.get_running_loop()
        Endpoint.default().pid_path.touch()  # tells `draftline doctor` when config.toml was read

        def unanswered(language: str, why: Unanswered, num_steps: int) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(telemetry.unanswered, language, why, num_steps)

        return await _load_engine(buffers, progress, lambda text: service.trouble(text), unanswered)

    service = Service(
        Endpoint.default(),
        load,
        buffers,
        telemetry,
        version=version(),
        idle_exit_seconds=config.idle_exit_minutes * 60,
    )

    async def serve() -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            _on_signal(name, service)
        await service.run()

    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        asyncio.run(serve())
    except AlreadyRunningError as error:
        fail(f"{error}; `draftline stop` ends it")
    except OSError as error:
        fail(f"the decoder cannot listen at {Endpoint.default().directory}: {error.strerror}; set XDG_RUNTIME_DIR")
    logging.shutdown()
    # a large model that is still being loaded, or buffers being indexed, would keep the process for minutes
    os._exit(0)


async def _load_engine(
    buffers: Buffers,
    progress: Callable[[str], None],
    on_trouble: Callable[[str], None],
    on_unanswered: OnUnanswered = nobody_told,
) -> Engine:
    """The engine by today's config.toml, following the open buffers. Raises EngineError."""
    try:
        config = DecoderConfig.load()
    except ConfigError as error:
        raise EngineError(str(error)) from error
    if config.remote is None:
        return await _in_daemon_thread(lambda: _load(config, buffers, progress, on_unanswered))
    from decoder.assemble_remote import assemble_remote

    return await assemble_remote(config, config.remote, buffers, on_trouble)


async def _in_daemon_thread(work: Callable[[], Engine]) -> Engine:
    """As `asyncio.to_thread`, but when the loop ends it does not wait for the thread."""
    done: Future[Engine] = Future()
    done.set_running_or_notify_cancel()  # from now on it cannot be cancelled: the thread may always set it

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="loading", daemon=True).start()
    return await asyncio.wrap_future(done)


def _load(
    config: DecoderConfig, buffers: Buffers, progress: Callable[[str], None], on_unanswered: OnUnanswered
) -> Engine:
    """A model in this process; what that takes is imported only now."""
    from decoder.assemble import assemble
    from decoder.indexing import IndexingThread
    from decoder.learned import Learned, learned_path

    assembly = assemble(config, progress)
    buffers.attach(IndexingThread(assembly.corpus))
    return assembly.engine(config, Learned(learned_path()), buffers, on_unanswered=on_unanswered)


def _process_settings() -> DecoderConfig:
    """A broken config.toml is told to every client as the decoder's status, so here it only means defaults."""
    try:
        return DecoderConfig.load()
    except ConfigError:
        return DecoderConfig()


def _on_signal(name: signal.Signals, service: Service) -> None:
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(name, service.stop)
    except NotImplementedError:  # Windows
        signal.signal(name, lambda *_: loop.call_soon_threadsafe(service.stop))


def _log_to_file(level: str) -> None:
    path = log_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    rotating = logging.handlers.RotatingFileHandler(path, maxBytes=1_000_000, backupCount=3, encoding="utf-8")
    handlers: list[logging.Handler] = [rotating]
    if sys.stderr.isatty():
        handlers.append(logging.StreamHandler())
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", handlers=handlers
    )


async def _start(log_level: str) -> str:
    """What the decoder says of itself; what goes wrong at once is waited for."""
    command = (*DECODER_COMMAND, "--log-level", log_level) if log_level else DECODER_COMMAND
    connection = await connect_or_start(
        Endpoint.default(), client="draftline decoder", version=version(), command=command
    )
    status: object = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETTLE_SECONDS):
            while isinstance(status := await connection.receive(), Status) and status.state == "loading":
                pass
    await connection.close()
    message = status.message if isinstance(status, Status) else "it said nothing of its state"
    return f"decoder {connection.welcome.pid} ({connection.welcome.version}): {message}"


def _is_owned(endpoint: Endpoint) -> bool:
    lock = FileLock(endpoint.owner_lock)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError as error:
        fail(f"cannot use the runtime directory {endpoint.directory}: {error.strerror}; set XDG_RUNTIME_DIR")
    lock.release()
    return False


async def _ask_to_stop(endpoint: Endpoint) -> bool:
    """Whether the decoder took the message and hung up; one that hangs or speaks another protocol does not."""
    try:
        connection = await connect(endpoint, client="draftline stop", version=version(), any_protocol=True)
    except (OSError, WireError):
        return False
    try:
        connection.send(Stop())
        async with asyncio.timeout(STOP_SECONDS):
            while await connection.receive() is not None:  # who hangs up first may not be heard any more
                pass
    except (OSError, WireError):
        return False
    finally:
        await connection.abort()
    return True


def _wait_until_gone(endpoint: Endpoint, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not _is_owned(endpoint):
            return True
        time.sleep(0.05)
    return False


def _signal(endpoint: Endpoint, number: int) -> None:
    """Sends a signal to the holder of the owner lock."""
    try:
        os.kill(int(endpoint.pid_path.read_text(encoding="ascii")), number)
    except (ProcessLookupError, FileNotFoundError):  # it is leaving already
        return
    except (OSError, ValueError) as error:
        fail(f"the decoder does not answer and cannot be ended ({error}); end its process by hand")
