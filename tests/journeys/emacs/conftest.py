"""Emacs with lsp-mode, a desk to use it at, and a decoder that writes what the test says."""

import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from decoder import version
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.messages import Status, Welcome
from tests.fakes import ScriptedDecoder
from tests.journeys.emacs.desk import Desk

INSTALL = Path(__file__).with_name("install.sh")
INSTALL_SECONDS = 900
READY = Status("ready", "scripted is ready", model="scripted")


@pytest.fixture(scope="session")
def emacs() -> str:
    """An Emacs whose lsp-mode knows inline completion; without one a test is skipped, but not in CI."""
    done = subprocess.run([INSTALL], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    if done.returncode != 0:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no Emacs with lsp-mode 10: {done.stderr.strip()}")
    return done.stdout.splitlines()[-1]


@pytest.fixture
def desk(emacs: str) -> Iterator[Desk]:
    with tempfile.TemporaryDirectory(prefix="dl-emacs-", dir="/tmp") as folder:  # short, for a socket's path
        (Path(folder) / "run").mkdir(mode=0o700)
        yield Desk(emacs, Path(folder))


@pytest.fixture
async def decoder(desk: Desk) -> AsyncIterator[ScriptedDecoder]:
    """Runs already when Emacs starts the real server; the test says what it answers."""
    endpoint = Endpoint(private_directory(desk.folder / "run" / "draftline"), tcp=False)
    welcome = Welcome(version(), pid=os.getpid(), busy=False)
    async with ScriptedDecoder(endpoint, welcome=welcome, status=READY) as decoder:
        yield decoder
