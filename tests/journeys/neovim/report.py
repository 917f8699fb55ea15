"""What e2e.lua saw in Neovim, typed."""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Ghost:
    """Ghost text, and the row and byte column where it begins."""

    row: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the editor shows: lines, cursor (row, byte column), ghost text."""

    lines: list[str]
    row: int
    column: int
    ghost: Ghost | None
    at_ms: int
    mode: str

    @property
    def text(self) -> str:
        """The buffer."""
        return "\n".join(self.lines)

    @property
    def before_cursor(self) -> str:
        """The buffer up to the cursor."""
        return "\n".join([*self.lines[: self.row], self.lines[self.row].encode()[: self.column].decode()])

    @property
    def after_cursor(self) -> str:
        """The buffer from the cursor on."""
        return self.text[len(self.before_cursor) :]

    @property
    def text_with_ghost(self) -> str:
        """What the person expects in the buffer after accepting: the ghost text where the cursor stands."""
        assert self.ghost is not None
        assert (self.ghost.row, self.ghost.column) == (self.row, self.column), "the ghost text is not at the cursor"
        line = self.lines[self.row].encode()
        line_with_ghost = line[: self.column].decode() + self.ghost.text + line[self.column :].decode()
        return "\n".join([*self.lines[: self.row], line_with_ghost, *self.lines[self.row + 1 :]])


@dataclass(frozen=True, slots=True)
class Request:
    """One request of the client: when it was sent and answered, the cursor's line then, and the kind of answer."""

    method: str
    sent_ms: int
    line: str
    answered_ms: int | None = None
    answer: str = ""
    line_when_answered: str = ""
    failure: str = ""
    character: int | None = None
    command: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What the scenario saw."""

    encoding: str
    requests: list[Request]
    snapshots: dict[str, Snapshot]

    @staticmethod
    def read(path: Path) -> "Report":
        """The report that e2e.lua has written."""
        content = json.loads(path.read_text(encoding="utf-8"))
        log = content.pop("lsp_log", "")
        assert content["ok"], f"{json.dumps(content, indent=1, ensure_ascii=False)}\nThe editor's log ends with:\n{log}"
        return Report(
            content["encoding"],
            [Request(**request) for request in content["requests"]],
            {name: _snapshot(**fields) for name, fields in content["snapshots"].items()},
        )

    @property
    def completions(self) -> list[Request]:
        """The requests for ghost text, oldest first."""
        return [request for request in self.requests if request.method == "textDocument/inlineCompletion"]

    @property
    def overtaken(self) -> list[Request]:
        """The requests for ghost text that were still unanswered when the next one was sent."""
        return [
            older
            for older, newer in itertools.pairwise(self.completions)
            if older.answered_ms is not None and older.answered_ms > newer.sent_ms
        ]


def _snapshot(ghost: dict[str, Any] | None = None, **fields: Any) -> Snapshot:
    return Snapshot(ghost=Ghost(**ghost) if ghost else None, **fields)
