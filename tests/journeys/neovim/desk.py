"""A place where one test sits with Neovim, away from the user's own configuration, state and sockets."""

import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from tests.journeys.neovim.report import Report

DRIVER = Path(__file__).with_name("e2e.lua")
RECIPE = Path(__file__).parents[3] / "editors" / "README.md"
PLUGIN = RECIPE.with_name("neovim")
DRAFTLINE = Path(sys.executable).with_name("draftline")
NEOVIM_SECONDS = 150
LEAVE_SECONDS = 10.0
PATIENT = "vim.lsp.config('draftline', { init_options = { deadlineMs = 0 } })"
"""A line of init.lua for tests with a real model: it may take its time on a busy machine."""

Step = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Desk:
    """A place of its own for one test: configuration, state, sockets; only the cache, with the model, is the user's."""

    neovim: str
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of the editor, and so of the server and of the decoder."""
        private = {f"XDG_{name}": str(self.folder / name) for name in ("CONFIG_HOME", "STATE_HOME", "DATA_HOME")}
        unwanted = ("VIM", "VIMRUNTIME", "VIMINIT", "EXINIT", "NVIM_APPNAME", "DRAFTLINE_CONFIG", *private)
        return {
            **{name: value for name, value in os.environ.items() if name not in unwanted},
            **private,
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "PATH": os.pathsep.join([str(self.folder / "bin"), str(DRAFTLINE.parent), os.environ["PATH"]]),
        }

    def prepare(self) -> None:
        """The first recipe becomes the user's init.lua, word for word."""
        recipe = re.search(r"^```lua\n(.*?)^```$", RECIPE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        assert recipe is not None
        self.write("CONFIG_HOME/nvim/init.lua", recipe[1])
        self.write("bin/.keep", "")
        (self.folder / "run").mkdir(mode=0o700)

    def use_plugin(self, *more: str) -> None:
        """The user's init.lua is the plugin's one line, and `more`."""
        lines = [f"vim.opt.runtimepath:prepend('{PLUGIN}')", *more, "require('draftline').setup()"]
        self.write("CONFIG_HOME/nvim/init.lua", "\n".join(lines))

    def write(self, name: str, text: str) -> Path:
        """A file on this desk."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def play(self, file: Path, *steps: Step) -> Report:
        """Opens `file` in Neovim and goes through the steps, which e2e.lua explains."""
        report = self.folder / f"{uuid.uuid4()}.report.json"
        scenario = self.write(f"{report.stem}.scenario.json", json.dumps(steps))
        done = subprocess.run(
            [self.neovim, "--headless", "-n", str(file), "-c", f"luafile {DRIVER}"],
            env={**self.environment, "E2E_SCENARIO": str(scenario), "E2E_REPORT": str(report)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=NEOVIM_SECONDS,
            check=False,
        )
        assert report.exists(), f"Neovim ended with {done.returncode} and no report: {done.stderr.decode()}"
        return Report.read(report)

    def stop_decoder(self) -> None:
        """`draftline stop`, once more if the editor was just starting another one, which did not listen yet."""
        deadline = time.monotonic() + LEAVE_SECONDS
        while True:
            stop = subprocess.run([DRAFTLINE, "stop"], env=self.environment, capture_output=True, text=True, timeout=60)
            assert stop.returncode == 0, stop.stderr
            if not any("decoder" in command for command in self.processes().values()) or time.monotonic() > deadline:
                return
            time.sleep(0.2)

    def telemetry(self, kind: str) -> list[dict[str, Any]]:
        """The records of one kind in the decoder's log."""
        with (self.folder / "STATE_HOME" / "draftline" / "telemetry.msgpack").open("rb") as file:
            return [record for record in msgpack.Unpacker(file) if record["kind"] == kind]

    def left_behind(self) -> dict[int, str]:
        """The processes that are still there when they have had time to end."""
        deadline = time.monotonic() + LEAVE_SECONDS
        while (processes := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return processes

    def processes(self) -> dict[int, str]:
        """Process ids and command lines of all that was started from this desk (where there is a /proc)."""
        mark = f"XDG_RUNTIME_DIR={self.folder / 'run'}".encode()
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # ended meanwhile, or somebody else's
                continue
        return found
