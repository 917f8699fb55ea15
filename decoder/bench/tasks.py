"""Completion tasks: a prefix to continue, with what else was open in the editor."""

import gzip
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from decoder.engine import EngineError


@dataclass(frozen=True, slots=True)
class OpenBuffer:
    """A file that was open beside the task's own."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Task:
    """middle: what was really written between prefix and suffix."""

    id: str
    language: str
    path: str
    prefix: str
    middle: str
    suffix: str
    open_buffers: tuple[OpenBuffer, ...]
    is_whole_copy: bool = False
    """Whether the middle stands whole elsewhere in the same file: a gift to lookup drafting."""


def load_tasks(path: Path, *, whole_copies: bool = False) -> list[Task]:
    """All tasks of a folder NAME with NAME.jsonl.gz and NAME.buffers.jsonl.gz, or of one JSON Lines file.

    In a single file (plain or gzip) the buffers' texts stand inside.
    whole_copies: those of NAME.wholecopy.jsonl.gz as well, which only a folder has.
    Raises EngineError naming what cannot be used.
    """
    if whole_copies and path.is_file():
        raise EngineError(f"--wholecopy: whole copies are in a file of their own; name the folder around {path.name}")
    try:
        if path.is_dir():
            tasks = json_lines(path / f"{path.name}.jsonl.gz")
            copies = json_lines(path / f"{path.name}.wholecopy.jsonl.gz") if whole_copies else []
            texts = {row["sha"]: row["text"] for row in json_lines(path / f"{path.name}.buffers.jsonl.gz")}
        else:
            tasks, copies, texts = json_lines(path), [], {}
        found = [_task(row, texts) for row in tasks]
        found += [replace(_task(row, texts), is_whole_copy=True) for row in copies]
    except FileNotFoundError as error:
        raise EngineError(f"no tasks at {path}: {error.filename} does not exist") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise EngineError(f"the tasks at {path} cannot be read: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"the tasks at {path} are not of the expected form: {error!r}") from error
    if not found:
        raise EngineError(f"no tasks at {path}: the file is empty")
    name, times = Counter(task.id for task in found).most_common(1)[0]
    if times > 1:
        raise EngineError(f"the tasks at {path} are not of the expected form: {times} tasks have the id {name!r}")
    return found


def spread(tasks: Iterable[Task], limit: int) -> list[Task]:
    """A fixed choice of at most `limit` tasks, taking languages in turn so that none is left out early."""
    by_language: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_language[task.language].append(task)
    chosen: list[Task] = []
    for turn in range(max(map(len, by_language.values()), default=0)):
        chosen += [group[turn] for _, group in sorted(by_language.items()) if turn < len(group)]
    return chosen[:limit]


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON Lines file, plain or gzip; blank lines are none. Raises what reading and parsing raise."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _task(row: dict[str, Any], texts: dict[str, str]) -> Task:
    return Task(
        id=_string(row["id"]),
        language=_string(row["lang"]),
        path=_string(row["path"]),
        prefix=_string(row["prefix"]),
        middle=_string(row.get("middle", "")),
        suffix=_string(row.get("suffix", "")),
        open_buffers=tuple(_open_buffer(each, texts) for each in row.get("open_buffers", ())),
    )


def _open_buffer(row: dict[str, Any], texts: dict[str, str]) -> OpenBuffer:
    return OpenBuffer(_string(row["path"]), _string(row["text"] if "text" in row else texts[row["sha"]]))


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no string")
    return value
