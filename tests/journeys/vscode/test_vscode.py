"""VS Code as a person has it: the packaged extension, a real file, real keys, and what then stands there."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.decoder.scripted_server import Asked, Reply, scripted_server, writing
from tests.journeys.neovim.desk import DRAFTLINE
from tests.journeys.neovim.desk import Desk as Room
from tests.journeys.vscode.desk import Desk, VsCode

pytestmark = pytest.mark.vscode

HERE = Path(__file__).parent
EXTENSION = HERE.parents[2] / "editors" / "vscode"
MODEL = "smollm2-135m"
INSTALL_SECONDS = 900

ARITHMETIC = '''"""Arithmetic."""


def add(left, right):
    """The sum of two numbers."""
    return left + right


def subtract(left, right):
    """The difference of two numbers."""
    '''


def unavailable(reason: str) -> NoReturn:
    """Skips the test, but fails it where nobody would notice the skip."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def run(*command: str | Path, cwd: Path = HERE) -> str:
    """The last line that a command prints."""
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS
    )
    if done.returncode != 0:
        unavailable(f"{command[0]} failed: {done.stderr.strip()[-2000:]}")
    return (done.stdout.splitlines() or [""])[-1]


@pytest.fixture(scope="session")
def vscode() -> VsCode:
    """VS Code, and the extension as it is now."""
    node_modules, chromium = run(HERE / "install.sh").split(" ", 1)
    if not (EXTENSION / "node_modules").is_dir():
        run("npm", "ci", cwd=EXTENSION)
    run("npm", "run", "package", cwd=EXTENSION)
    return VsCode(Path(node_modules), chromium, EXTENSION / "draftline.vsix")


@pytest.fixture
def desk(vscode: VsCode) -> Iterator[Desk]:
    """Everything that was started from it has ended when the test ends."""
    room = Room("", Path(tempfile.mkdtemp(prefix="dl-vsc-")))  # short: a socket's path may have about 100 bytes
    room.prepare()
    try:
        yield Desk(vscode, room)
        room.stop_decoder()
        assert room.left_behind() == {}
    finally:
        for process in room.processes():
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(room.folder, ignore_errors=True)


@pytest.fixture
def starter(desk: Desk) -> Desk:
    """A desk with the starter model."""
    if subprocess.run([DRAFTLINE, "models", "path", MODEL], capture_output=True, timeout=60).returncode != 0:
        unavailable(f"the starter model is missing: run `draftline models pull {MODEL}`")
    return desk


@pytest.fixture
async def scripted(desk: Desk) -> AsyncIterator[Desk]:
    """A desk whose model writes `left + right` behind `return `, `"日本")` behind the party, and else nothing."""

    def script(asked: Asked) -> Reply:
        prompt = asked.body["prompt"]
        known = {"return ": "left + right\n", 'print("🎉 你好", ': '"日本")\n'}
        return writing(next((text for end, text in known.items() if prompt.endswith(end)), "\n"))

    async with scripted_server(script) as server:
        engine = f'[engine]\nkind = "remote"\nbase_url = "{server.url}"\nmodel = "NAME"\nprompt_family = "prefix"\n'
        desk.room.write("CONFIG_HOME/draftline/config.toml", engine)
        yield desk
        desk.room.stop_decoder()  # before its server


@pytest.mark.starter
async def test_ghost_text_is_shown_accepted_and_taken_back(starter: Desk) -> None:
    report = await starter.play(
        "arithmetic.py",
        ARITHMETIC,
        {"await": "status: ready"},
        {"type": "return "},
        {"await": "ghost"},
        {"await": "ends: return "},
        {"snapshot": "shown"},
        {"screenshot": "starter-ghost"},
        {"press": "Tab"},
        {"await": "file: accepted"},
        {"snapshot": "accepted"},
        {"press": "Control+z"},
        {"await": "file: shown"},
        {"click": "[id^='draftline.draftline']"},
        {"await": "text: Pause in This Window"},
        {"screenshot": "menu"},
        {"press": "Escape"},
        {"command": "draftline: Pause or Resume in This Window"},
        {"await": "status: paused in this window"},
        {"screenshot": "starter-paused"},
        {"command": "draftline: Pause or Resume in This Window"},
        {"await": "status: ready"},
        {"command": "draftline: Restart the Language Server"},
        {"await": "status: starting"},
        {"await": "status: ready"},
    )

    shown, accepted = report.snapshots["shown"], report.snapshots["accepted"]
    assert MODEL in shown.status
    assert accepted.text == shown.text + shown.ghost
    assert accepted.ghost != shown.ghost
    starter.room.stop_decoder()
    (feedback,) = starter.room.telemetry("feedback")
    assert feedback["outcome"] == "accepted"


async def test_words_are_taken_one_by_one_and_typing_along_or_away_leaves_nothing_stale(scripted: Desk) -> None:
    report = await scripted.play(
        "arithmetic.py",
        ARITHMETIC,
        {"await": "status: ready"},
        {"type": "return "},
        {"await": "ghost"},
        {"await": "ends: return "},
        {"snapshot": "whole"},
        {"press": "Control+ArrowRight"},
        {"await": "ghost:  + right"},
        {"await": "ends: return left"},
        {"snapshot": "word"},
        {"type": " +"},
        {"await": "ghost:  right"},
        {"await": "ends: return left +"},
        {"snapshot": "along"},
        {"type": "9"},
        {"await": "ends: +9"},
        {"await": "no ghost"},
        {"snapshot": "away"},
        {"press": "Backspace"},
        {"press": "Backspace"},
        {"press": "Backspace"},
        {"await": "file: word"},
        {"command": "draftline: Explain Why Nothing Appeared"},
        {"await": "text: s ago"},
        {"screenshot": "explain"},
    )

    base = ARITHMETIC + "return "
    snapshots = report.snapshots
    assert (snapshots["whole"].ghost, snapshots["whole"].text) == ("left + right", base)
    assert snapshots["word"].text == base + "left"
    assert snapshots["along"].text == base + "left +"
    assert (snapshots["away"].ghost, snapshots["away"].text) == ("", base + "left +9")


async def test_crlf_and_wide_characters_before_the_cursor_and_a_decoder_that_comes_back(scripted: Desk) -> None:
    text = 'faces = {"🙂": "👩‍🚀"}\r\n'

    report = await scripted.play(
        "wide.py",
        text,
        {"await": "status: ready"},
        {"run": f"{DRAFTLINE} stop"},
        {"await": "status: paused"},
        {"paste": 'print("🎉 你好",'},
        {"type": " "},
        {"await": "ghost"},
        {"await": "ends: , "},
        {"snapshot": "shown"},
        {"screenshot": "wide"},
        {"press": "Tab"},
        {"await": "file: accepted"},
        {"snapshot": "accepted"},
    )

    assert report.snapshots["shown"].ghost == '"日本")'
    assert report.snapshots["accepted"].text == text + 'print("🎉 你好", "日本")'


async def test_a_path_without_a_program_leads_to_its_setting(desk: Desk) -> None:
    await desk.play(
        "a.py",
        "",
        {"await": "status: There is no program"},
        {"await": "text: Open Settings"},
        {"screenshot": "missing"},
        {"click": ".notifications-toasts .monaco-text-button"},
        {"await": "text: Folders cannot set it"},
        {"screenshot": "settings"},
        settings={"draftline.path": "/nowhere/draftline"},
    )
