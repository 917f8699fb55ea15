"""`draftline explain` from outside, with a decoder in this process."""

import asyncio
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from decoder.explain_command import _ago, _table
from decoder.wire.endpoint import Endpoint
from decoder.wire.messages import Reason, Silence
from tests.decoder.serving import client, ready, serving
from tests.fakes import ScriptedEngine


@dataclass(frozen=True)
class Done:
    code: int
    said: str
    complained: str


async def explain(*arguments: str, folder: Path | None = None) -> Done:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "lsp_server", "explain", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, cwd=folder)
    said, complained = await process.communicate()
    assert b"Traceback" not in complained, complained.decode()
    return Done(process.returncode or 0, said.decode(), complained.decode())


@pytest.fixture(autouse=True)
def own_directories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    monkeypatch.delenv("DRAFTLINE_CONFIG", raising=False)


async def test_each_silence_is_a_row_with_what_to_do(endpoint: Endpoint, tmp_path: Path) -> None:
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        await ready(editor)
        editor.send(Silence((tmp_path / "a b.py").as_uri(), "python", "suppressed:inside_word"))
        editor.send(Silence((tmp_path / "sub" / "[red]c.py").as_uri(), "python", "engine_error: it broke; mend it"))
        editor.send(Silence("untitled:Untitled-1", "python", "suppressed:of_tomorrow"))
        done = await explain(folder=tmp_path / "..")
        here = await explain(folder=tmp_path)
    assert (done.code, done.complained) == (0, "")
    assert max(map(len, done.said.splitlines())) <= 80, "as on a terminal, of which there is none"
    rows = re.split(r"\n(?=\d)", done.said)
    head, newest, broken, oldest = (" ".join(row.split()) for row in rows)
    assert head.split()[:2] == ["when", "file"]
    assert "untitled:Untitled-1" in newest
    assert "suppressed:of_tomorrow" in newest
    assert "It failed: it broke; mend it" in broken
    assert "/sub/[red]c.py" in broken, "no markup"
    assert oldest.startswith("0 s ago")
    assert "inside a word" in oldest
    assert "  a b.py  " in re.split(r"\n(?=\d)", here.said)[-1], "from here"


async def test_one_file_may_be_spelt_as_its_editor_spells_it(endpoint: Endpoint, tmp_path: Path) -> None:
    file, other = tmp_path / "é(1).py", tmp_path / "other.py"
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        await ready(editor)
        for uri in (file.as_uri(), file.as_uri().replace("%28", "("), other.as_uri()):
            editor.send(Silence(uri, "python", "suppressed:inside_word"))
        found = json.loads((await explain(str(file), "--json")).said)
        relative = json.loads((await explain("sub/../é(1).py", "--json", folder=tmp_path)).said)
        none = await explain(str(tmp_path / "new.py"))
    assert found["status"]["state"] == "ready"
    assert len(found["reasons"]) == len(relative["reasons"]) == 2
    (entry, _) = found["reasons"]
    assert (entry["language"], entry["reason"]) == ("python", "suppressed:inside_word")
    assert "inside a word" in entry["sentence"]
    assert none.code == 0
    assert "there is no file" in none.said
    assert "nothing recorded about" in none.said


async def test_a_file_that_is_not_there_is_told_of_and_explained_all_the_same(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    (tmp_path / "here.py").touch()
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        await ready(editor)
        editor.send(Silence((tmp_path / "gone.py").as_uri(), "python", "suppressed:inside_word"))
        gone = await explain("gone.py", folder=tmp_path)
        here = await explain("here.py", folder=tmp_path)
    assert gone.said.startswith("there is no file gone.py\n")
    assert "inside a word" in gone.said
    assert here.said == "nothing recorded about here.py since the decoder started\n"


async def test_a_directory_is_no_file(tmp_path: Path) -> None:
    done = await explain(".", folder=tmp_path)
    assert (done.code, done.said) == (2, "")
    assert "is a directory: name a file" in done.complained


async def test_nothing_recorded_is_no_error(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()):
        done = await explain()
        in_json = json.loads((await explain("--json")).said)
    assert (done.code, done.complained) == (0, "")
    assert done.said == "nothing recorded about any file since the decoder started\n"
    assert in_json["reasons"] == []


async def test_without_a_decoder_it_says_why_and_starts_none(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "draftline").mkdir()
    (tmp_path / "draftline" / "config.toml").write_text("speed = 9\n", encoding="utf-8")
    done = await explain()
    assert (done.code, done.said) == (1, "")
    (complaint,) = done.complained.splitlines()
    assert "no decoder is running" in complaint
    assert "'speed'" in complaint
    assert not endpoint.socket_path.exists()


@pytest.mark.parametrize("width", [60, 80, 100])
def test_on_a_terminal_a_long_path_leaves_room_for_the_reason(width: int) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    document = "file:///code/some/very/deep/folder/structure/with/many/parts/module_with_long_name.py"
    console.print(_table([Reason(7000.0, document, "python", "suppressed:inside_word")], width // 3))
    rows = console.export_text().splitlines()
    assert max(map(len, rows)) <= width
    assert rows[1].startswith("1 h ago")
    assert "…" in rows[1]
    assert "with_long_name.py" in rows[1]
    assert len(rows) < 5, "the reason is not squeezed into a word a line"
    assert " ".join(" ".join(row[width // 3 + 10 :].split()) for row in rows[1:]).endswith("or ask explicitly.")


def test_the_same_again_is_one_row_with_the_latest_time() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    entries = [
        Reason(seconds, document, "python", reason)
        for seconds, document, reason in (
            (1.0, "untitled:a", "loading"),
            (2.0, "untitled:b", "loading"),
            (3.0, "untitled:a", "superseded"),
            (70.0, "untitled:a", "loading"),
        )
    ]
    console.print(_table(entries, 26))
    rows = [re.split(" {2,}", row)[:2] for row in console.export_text().splitlines() if " ago" in row]
    assert rows == [["1 s ago (2×)", "untitled:a"], ["2 s ago", "untitled:b"], ["3 s ago", "untitled:a"]]


def test_ages_are_in_whole_units() -> None:
    assert [_ago(seconds) for seconds in (0.2, 59.9, 60, 3599, 3600, 90_000)] == [
        "0 s ago",
        "59 s ago",
        "1 min ago",
        "59 min ago",
        "1 h ago",
        "25 h ago",
    ]
