"""Keystroke sessions: what is opened, which keys follow, and when. No server is known here."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

TRACES = Path(__file__).resolve().parents[3] / "shared" / "tasks" / "dev_traces.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Opening:
    """A document that is opened `at` seconds after the session's begin; `params` are those of didOpen."""

    at: float
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Key:
    """A keystroke `at` seconds; `params` are those of didChange.

    written: from the beginning of the line where the session starts up to the cursor, after the key; the text around
    it never changes. line, character: the cursor after the key, in UTF-16 units.
    """

    at: float
    params: dict[str, Any]
    written: str
    is_deletion: bool
    line: int
    character: int

    @property
    def version(self) -> int:
        """Of the document after the key."""
        version: int = self.params["textDocument"]["version"]
        return version


@dataclass(frozen=True, slots=True)
class Trace:
    """A session in one document: `head` and `tail` stay, between them `origin` grows into `wanted`."""

    name: str
    language: str
    uri: str
    openings: tuple[Opening, ...]
    keys: tuple[Key, ...]
    head: str
    tail: str
    origin: str
    wanted: str

    def first(self, num_keys: int) -> "Trace":
        """The same session, ended early."""
        return replace(self, keys=self.keys[:num_keys])


def load_traces(path: Path = TRACES) -> list[Trace]:
    """All sessions of a file. Raises OSError where there is none."""
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        return [read_trace(json.loads(row)) for row in rows]


def read_trace(row: dict[str, Any]) -> Trace:
    """A session as its file has it. The person types at the end of what was typed: asserts that."""
    uri, start = row["target"], row["start"]
    opened = [event for event in row["events"] if event["method"] == "textDocument/didOpen"]
    text = next(_text(event) for event in opened if event["params"]["textDocument"]["uri"] == uri)
    lines = text.split("\n")
    head = "".join(line + "\n" for line in lines[: start["line"]])
    column = code_points(lines[start["line"]], start["character"])
    written = origin = lines[start["line"]][:column]
    keys = []
    for event in row["events"]:
        if event["method"] == "textDocument/didChange":
            (change,) = event["params"]["contentChanges"]
            written = _edited(written, change, start["line"])
            deletes = change["text"] == ""
            at, cursor = event["t"] / 1000, event["cursor"]
            keys.append(Key(at, event["params"], written, deletes, cursor["line"], cursor["character"]))
    return Trace(
        name=row["session"],
        language=row["lang"],
        uri=uri,
        openings=tuple(Opening(event["t"] / 1000, event["params"]) for event in opened),
        keys=tuple(keys),
        head=head,
        tail=text[len(head) + column :],
        origin=origin,
        wanted=origin + row["middle"],
    )


def spread(traces: Sequence[Trace], limit: int) -> list[Trace]:
    """A fixed choice of `limit` sessions at even distances: their file goes from language to language.

    >>> spread("abcdefgh", 3)
    ['a', 'c', 'f']
    """
    limit = min(limit, len(traces))
    return [traces[number * len(traces) // limit] for number in range(limit)]


def code_points(line: str, units: int) -> int:
    """How many characters the first `units` UTF-16 units of a line are."""
    return len(line.encode("utf-16-le")[: 2 * units].decode("utf-16-le"))


def utf16_units(line: str) -> int:
    """The length of a line as an editor counts it."""
    return len(line.encode("utf-16-le")) // 2


def _text(event: dict[str, Any]) -> str:
    text: str = event["params"]["textDocument"]["text"]
    return text


def _edited(written: str, change: dict[str, Any], first_line: int) -> str:
    begin, end = (_offset(written, change["range"][name], first_line) for name in ("start", "end"))
    assert end == len(written), "the session edits elsewhere than at the end of what was written"
    text: str = change["text"]
    return written[:begin] + text


def _offset(written: str, position: dict[str, int], first_line: int) -> int:
    lines = written.split("\n")
    line = position["line"] - first_line
    return sum(len(each) + 1 for each in lines[:line]) + code_points(lines[line], position["character"])
