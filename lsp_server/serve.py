"""The process of `draftline serve`: one editor, from its first byte to our exit code."""

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from lsp_server.channel import Channel, accept_tcp, claim_stdio

PARENT_POLL_SECONDS = 5.0


def serve(arguments: Sequence[str]) -> int:
    """Runs `draftline serve` with the arguments after `serve`; returns the exit code."""
    address = _parser().parse_args(arguments).tcp
    logging.basicConfig(level=logging.WARNING, format="draftline: %(levelname)s: %(name)s: %(message)s")
    logging.getLogger("pygls").setLevel(logging.ERROR)
    try:
        channel = claim_stdio() if address is None else accept_tcp(address.host, address.port)
    except OSError as error:
        print(f"draftline: cannot listen on {address}: {error.strerror}; choose another --tcp address", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1
    try:
        return _run(_converse(channel, watch_parent=address is None))
    except KeyboardInterrupt:
        return 1


@dataclass(frozen=True, slots=True)
class _Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class _Writer:
    """What pygls writes to. A broken channel ends the conversation rather than raise into a handler."""

    channel: Channel
    on_broken: Callable[[], None]

    def write(self, data: bytes) -> None:
        try:
            self.channel.write(data)
        except OSError:
            self.on_broken()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.channel.close()


async def _converse(channel: Channel, *, watch_parent: bool) -> int:
    from lsp_server.server import create_server  # after the streams were claimed: importing could print

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()
    server = create_server()
    gc.freeze()  # a full collection would walk all the classes of LSP, some ten milliseconds of a keystroke's time

    def end(code: int | None = None) -> None:
        if not ended.done():
            ended.set_result(server.protocol.exit_code if code is None else code)

    writer = _Writer(channel, end)
    server.protocol.on_exit = end
    server.protocol.set_writer(writer)
    channel.pump(loop, server.protocol.receive, end)
    watch = loop.create_task(_watch(lambda: server.process_id, end)) if watch_parent else None
    try:
        return await ended
    finally:
        if watch is not None:
            watch.cancel()
        await server.aclose()
        writer.close()


async def _watch(parent: Callable[[], int | None], on_gone: Callable[[], None]) -> None:
    """Calls `on_gone` when the editor's process has ended though our input is still open.

    An id that was never alive here comes from another machine or container, and is not watched.
    """
    seen = False
    while True:
        await asyncio.sleep(PARENT_POLL_SECONDS)
        alive = is_alive(parent())
        if seen and not alive:
            on_gone()
            return
        seen = alive


def is_alive(process_id: int | None) -> bool:
    """Whether a process of this id exists; False where the system has no harmless way to ask."""
    if process_id is None or process_id <= 0 or os.name != "posix":
        return False
    try:
        os.kill(process_id, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="draftline serve",
        description="The language server, on standard input and output.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="wait there for one editor instead; port 0 takes a free one"
    )
    return parser


def _address(text: str) -> _Address:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, as in 127.0.0.1:7777")
    return _Address(host.removeprefix("[").removesuffix("]"), int(port))


def _run(main: Coroutine[Any, Any, int]) -> int:
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.run(main)
    return uvloop.run(main)
