"""Source files named on the command line."""

import os
from dataclasses import dataclass
from pathlib import Path

from decoder.engine import EngineError
from drafting.lines import split_lines
from drafting.secret_names import secret_pattern

MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """A cursor: `line` and `column` count from 1, columns in characters."""

    path: Path
    line: int
    column: int

    @staticmethod
    def parse(text: str) -> "Place":
        """FILE:LINE:COL. Raises ValueError with what is wrong."""
        name, _, rest = text.rpartition(":")
        name, _, line = name.rpartition(":")
        if not name or not line.isdecimal() or not rest.isdecimal() or int(line) < 1 or int(rest) < 1:
            raise ValueError(f"{text!r} is not FILE:LINE:COL with line and column from 1, as in src/app.py:12:5")
        return Place(Path(name), int(line), int(rest))


def read_source(path: Path) -> str:
    """The text of a file. Raises EngineError for one that holds secrets, is missing, too large, or not text."""
    _refuse_secrets(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # some files, as /dev/zero, do not tell their size
    except FileNotFoundError as error:
        raise EngineError(f"{path} does not exist; check the name") from error
    except OSError as error:
        raise EngineError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise EngineError(f"{path} is larger than {MAX_BYTES // 2**20} MiB; completions are for files written by hand")
    try:
        if b"\0" in data:
            raise UnicodeError
        return data.decode("utf-8-sig")
    except UnicodeError as error:
        raise EngineError(f"{path} is not UTF-8 text; completions are for source files") from error


def _refuse_secrets(path: Path) -> None:
    for name in (str(path), os.path.realpath(path)):
        if pattern := secret_pattern(name):
            raise EngineError(
                f"{path} is not read: its name matches {pattern!r}, as of a file with secrets;"
                " if it holds none, give it another name"
            )


def split_at(text: str, place: Place) -> tuple[str, str]:
    """The text before and after the cursor. Raises EngineError for a place outside the text."""
    lines = split_lines(text)
    if place.line > len(lines):
        raise EngineError(f"{place.path} has {len(lines)} lines, there is no line {place.line}")
    width = len(lines[place.line - 1].rstrip("\r\n"))
    if place.column > width + 1:
        raise EngineError(
            f"line {place.line} of {place.path} has {width} characters: the column is at most {width + 1},"
            f" not {place.column}"
        )
    offset = sum(map(len, lines[: place.line - 1])) + place.column - 1
    return text[:offset], text[offset:]
