"""Where the decoder of this user listens: a unix socket in a private directory, or loopback TCP with a token."""

import hashlib
import os
import secrets
import socket
import stat
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

from decoder.wire.frames import WireError

_LONGEST_SOCKET_PATH = 100
"""Bytes; the kernel's limit is 108 on Linux and 104 on macOS."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The private directory of one user's decoder, and the kind of socket in it."""

    directory: Path
    tcp: bool

    @property
    def socket_path(self) -> Path:
        """The unix socket (mode 0600)."""
        return self.directory / "decoder.sock"

    @property
    def address_path(self) -> Path:
        """On TCP: `port token` (mode 0600)."""
        return self.directory / "decoder.tcp"

    @property
    def owner_lock(self) -> Path:
        """Held by the decoder for as long as it lives."""
        return self.directory / "decoder.lock"

    @property
    def pid_path(self) -> Path:
        """The process id of the decoder that holds the owner lock."""
        return self.directory / "decoder.pid"

    @property
    def start_lock(self) -> Path:
        """Held by whoever starts a decoder, until it listens."""
        return self.directory / "start.lock"

    @staticmethod
    def default() -> "Endpoint":
        """The endpoint of this user; creates its directory (mode 0700).

        Raises WireError where the directory belongs to somebody else or is open to others.
        """
        return Endpoint(private_directory(_runtime_directory()), tcp=not hasattr(socket, "AF_UNIX"))

    def write_address(self, port: int) -> str:
        """Publishes a TCP port with a fresh token, which is returned."""
        token = secrets.token_hex(32)
        draft = self.address_path.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(f"{port} {token}", encoding="ascii")
        draft.replace(self.address_path)
        return token

    def read_address(self) -> tuple[int, str]:
        """The TCP port and token. Raises ConnectionRefusedError where no decoder has published one."""
        try:
            port, token = self.address_path.read_text(encoding="ascii").split()
            return int(port), token
        except (OSError, ValueError) as error:
            raise ConnectionRefusedError(f"no decoder has left its address in {self.address_path}") from error

    def clear(self) -> None:
        """Removes what a dead decoder left behind. Call it only while holding one of the locks."""
        self.socket_path.unlink(missing_ok=True)
        self.address_path.unlink(missing_ok=True)
        self.pid_path.unlink(missing_ok=True)


def private_directory(path: Path) -> Path:
    """Creates `path` with mode 0700 and returns it. Raises WireError where somebody else could reach into it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat(follow_symlinks=False)
    except OSError as error:
        raise WireError(f"cannot use the runtime directory {path}: {error.strerror}; set XDG_RUNTIME_DIR") from error
    if hasattr(os, "getuid"):
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise WireError(
                f"the runtime directory {path} is not a directory of yours; remove it or set XDG_RUNTIME_DIR"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            path.chmod(0o700)
    return path


def _runtime_directory() -> Path:
    path = _session_directory()
    if path is None:
        path = Path(tempfile.gettempdir()) / f"draftline-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    if len(os.fsencode(path / "decoder.sock")) <= _LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"draftline-{name}"


def _session_directory() -> Path | None:
    """Our directory in the session of a desktop or of systemd; None where there is no session."""
    from platformdirs import user_runtime_path  # not needed to import the messages

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs warns where it falls back to a shared temporary directory
        try:
            path = user_runtime_path("draftline", appauthor=False)
        except PermissionError:  # somebody else has made that temporary directory
            return None
    return path if path.parent.is_dir() else None
