"""The bytes to and from one editor: standard input and output, or one TCP connection."""

import asyncio
import contextlib
import os
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from lsp_server.framing import FrameReader, Garbage

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Channel:
    """Blocking reads and writes of bytes. `read` returns nothing at the end; both raise OSError when it is broken."""

    read: Callable[[], bytes]
    write: Callable[[bytes], None]
    close: Callable[[], None]

    def pump(
        self,
        loop: asyncio.AbstractEventLoop,
        on_item: Callable[[bytes | Garbage], None],
        on_end: Callable[[], None],
    ) -> None:
        """Starts a thread that reads frames and hands them to the loop.

        A thread, since standard input may be a file or a terminal, or on Windows a pipe that no event loop can watch.
        It is a daemon: nothing waits for a read that never returns.
        """

        def read_frames() -> None:
            frames = FrameReader()
            with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
                try:
                    while data := self._read_or_nothing():
                        for item in frames.feed(data):
                            loop.call_soon_threadsafe(on_item, item)
                finally:
                    loop.call_soon_threadsafe(on_end)

        threading.Thread(target=read_frames, name="editor reader", daemon=True).start()

    def _read_or_nothing(self) -> bytes:
        try:
            return self.read()
        except OSError:
            return b""


def claim_stdio() -> Channel:
    """Takes standard input and output for LSP alone.

    Whatever else prints from now on, in Python or in C, goes to standard error, and children inherit neither.
    """
    _open_missing_streams()
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    for stream in (reader, writer):
        _prepare(stream)

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(writer, rest) :]

    return Channel(lambda: os.read(reader, _CHUNK), write, lambda: os.close(writer))


def accept_tcp(host: str, port: int) -> Channel:
    """Listens on `host`:`port` until one editor connects; says where on standard error. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as listener:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)
        print(f"draftline: listening on {host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Channel(lambda: connection.recv(_CHUNK), connection.sendall, connection.close)


def _prepare(stream: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(stream, os.O_BINARY)
    else:
        os.set_blocking(stream, True)  # whoever else holds it may have left it otherwise


def _open_missing_streams() -> None:
    """A process can be started without some of its standard streams; their numbers must not go to other files."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
