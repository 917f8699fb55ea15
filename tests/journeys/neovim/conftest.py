"""Neovim, a desk to use it at, and the decoder behind it: the real one, or one that writes what the test says."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from decoder import version
from decoder.wire.endpoint import Endpoint, private_directory
from decoder.wire.messages import Status, Welcome
from tests.fakes import ScriptedDecoder
from tests.journeys.neovim.desk import DRAFTLINE, PATIENT, Desk

HERE = Path(__file__).parent
MODEL = "smollm2-135m"
INSTALL_SECONDS = 900
READY = Status("ready", "scripted is ready", model="scripted")


def unavailable(reason: str) -> NoReturn:
    """Skips the test, but fails it where nobody would notice the skip."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def neovim() -> str:
    """A Neovim that knows inline completion."""
    done = subprocess.run(
        [HERE / "install.sh"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS
    )
    if done.returncode != 0:
        unavailable(f"no Neovim >= 0.12: {done.stderr.strip()}")
    return done.stdout.splitlines()[-1]


@pytest.fixture
def desk(neovim: str) -> Iterator[Desk]:
    """Configured as editors/README.md says. Everything that was started from it has ended when the test ends."""
    desk = Desk(neovim, Path(tempfile.mkdtemp(prefix="dl-nvim-")))  # short: a socket's path may have about 100 bytes
    desk.prepare()
    try:
        yield desk
        assert desk.left_behind() == {}
    finally:
        for process in desk.processes():
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(desk.folder, ignore_errors=True)


@pytest.fixture
def real_desk(desk: Desk) -> Iterator[Desk]:
    """A desk with the real server, the real decoder and the starter model; the decoder is stopped at the end."""
    found = subprocess.run([DRAFTLINE, "models", "path", MODEL], capture_output=True, timeout=60)
    if found.returncode != 0:
        unavailable(f"the starter model is missing: run `draftline models pull {MODEL}`")
    with (desk.folder / "CONFIG_HOME/nvim/init.lua").open("a", encoding="utf-8") as init:
        init.write(f"{PATIENT}\n")
    yield desk
    desk.stop_decoder()


@pytest.fixture
async def decoder(desk: Desk) -> AsyncIterator[ScriptedDecoder]:
    """Runs already when the desk's editor starts the real server; the test says what it answers."""
    endpoint = Endpoint(private_directory(desk.folder / "run" / "draftline"), tcp=False)
    welcome = Welcome(version(), pid=os.getpid(), busy=False)
    async with ScriptedDecoder(endpoint, welcome=welcome, status=READY) as decoder:
        yield decoder


@pytest.fixture
def scripted_desk(desk: Desk) -> Desk:
    """A desk whose `draftline` is the scripted server."""
    script = f"#!/bin/sh\nexec '{sys.executable}' '{HERE / 'scripted_server.py'}'\n"
    desk.write("bin/draftline", script).chmod(0o755)
    return desk
