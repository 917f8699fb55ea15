"""A place where one test sits with Emacs, away from the user's own configuration, state and sockets."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DRIVER = Path(__file__).with_name("e2e.el")
PLUGIN = Path(__file__).parents[3] / "editors" / "emacs"
DRAFTLINE = Path(sys.executable).with_name("draftline")
EMACS_SECONDS = 120

Step = Mapping[str, str | bool]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The buffer, the buffer up to point, the ghost text, and what of it is drawn behind the line."""

    text: str
    before: str
    ghost: str
    drawn: str


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything that belongs to one test lies in `folder`."""

    emacs: str
    folder: Path

    async def play(self, text: str, *steps: Step, name: str = "a.py") -> dict[str, Snapshot]:
        """Goes through the steps, which e2e.el explains, in a file that begins as `text`."""
        file = self.folder / name
        file.write_bytes(text.encode())
        scenario, report = self.folder / "scenario.json", self.folder / "report.json"
        scenario.write_text(json.dumps({"file": str(file), "plugin": str(PLUGIN), "steps": steps}), encoding="utf-8")
        done = await asyncio.to_thread(self._run, scenario, report)
        assert report.exists(), f"Emacs ended with {done.returncode} and no report: {done.stderr.decode()}"
        content = json.loads(report.read_text(encoding="utf-8"))
        assert not content["failure"], f"{json.dumps(content, indent=1)}\n{done.stderr.decode()}"
        return {name: Snapshot(**fields) for name, fields in content["snapshots"].items()}

    def _run(self, scenario: Path, report: Path) -> subprocess.CompletedProcess[bytes]:
        home = {"HOME": str(self.folder), "TMPDIR": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder / "run")}
        unwanted = ("EMACSLOADPATH", "DRAFTLINE_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
        environment = {name: value for name, value in os.environ.items() if name not in unwanted}
        environment["PATH"] = os.pathsep.join([str(DRAFTLINE.parent), environment["PATH"]])
        return subprocess.run(
            [self.emacs, "-Q", "--batch", "-l", str(DRIVER)],
            env={**environment, **home, "LANG": "C.UTF-8", "E2E_SCENARIO": str(scenario), "E2E_REPORT": str(report)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=EMACS_SECONDS,
            check=False,
        )
