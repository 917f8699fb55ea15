"""`draftline explain`: why the latest requests showed nothing."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.request import url2pathname

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from decoder import version
from decoder.last_words import last_words
from decoder.terminal import fail, out, plain_errors
from decoder.wire.connection import Connection, connect
from decoder.wire.endpoint import Endpoint
from decoder.wire.frames import WireError
from decoder.wire.messages import Reason, Reasons, ReasonsQuery, Reply, Status
from decoder.wire.reasons import explanation

ANSWER_SECONDS = 5.0
_ABSENT = (FileNotFoundError, ConnectionRefusedError, ConnectionResetError)


def explain(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Only about this file; it need not exist any more.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: status, and reasons with seconds_ago.")] = False,
) -> None:
    """Why the latest requests showed nothing, and what to do; exit code 1 where no decoder runs."""
    if file is not None and file.is_dir():
        fail(f"{file} is a directory: name a file in it, or none for all files", code=2)
    with plain_errors():
        endpoint = Endpoint.default()
        try:
            found = asyncio.run(_ask(endpoint))
        except _ABSENT:
            fail(f"no decoder is running, so there are no completions: {last_words()}")
    entries = [entry for entry in found.entries if file is None or _names(entry.document, file)]
    if as_json:
        typer.echo(json.dumps(_as_json(found.status, entries), ensure_ascii=False))
        return
    if found.status.state != "ready":
        out.print(f"{found.status.state}: {found.status.message}", markup=False)
    if file is not None and not file.exists():
        out.print(f"there is no file {file}", markup=False)
    if entries:
        Console(highlight=False, emoji=False).print(_table(entries, out.width // 3))
    else:
        out.print(f"nothing recorded about {file or 'any file'} since the decoder started", markup=False)


@dataclass(frozen=True, slots=True)
class _Found:
    status: Status
    entries: tuple[Reason, ...]


async def _ask(endpoint: Endpoint) -> _Found:
    """Raises WireError, or what means that there is none, as `connect` does."""
    connection = await connect(endpoint, client="draftline explain", version=version())
    try:
        connection.send(ReasonsQuery())
        async with asyncio.timeout(ANSWER_SECONDS):
            return await _read(connection)
    except TimeoutError as error:
        raise WireError("the decoder does not answer; `draftline stop` ends it") from error
    finally:
        await connection.abort()


async def _read(connection: Connection) -> _Found:
    """The status comes unasked, before the answer."""
    status = Status("loading", "it has not told its state")
    reply: Reply | None
    while (reply := await connection.receive()) is not None:
        match reply:
            case Status():
                status = reply
            case Reasons(entries=entries):
                return _Found(status, entries)
    raise ConnectionResetError("the decoder left before it answered")


def _as_json(status: Status, entries: Iterable[Reason]) -> dict[str, Any]:
    return {
        "status": {"state": status.state, "message": status.message, "model": status.model},
        "reasons": [
            {
                "seconds_ago": round(entry.seconds_ago, 1),
                "document": entry.document,
                "language": entry.language,
                "reason": entry.reason,
                "sentence": explanation(entry.reason),
            }
            for entry in entries
        ],
    }


def _table(entries: Iterable[Reason], file_width: int) -> Table:
    """One row for all requests in a file that showed nothing for the same reason.

    file_width: most characters of a file's name, so that there is room for the reason.
    """
    table = Table("when", "file", "why, and what to do", box=None, pad_edge=False)
    for column in table.columns[:2]:
        column.no_wrap = True
    ages: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for entry in entries:
        ages[_shown(entry.document), entry.reason].append(entry.seconds_ago)
    for (file, reason), seconds in ages.items():
        when = _ago(min(seconds)) + (f" ({len(seconds)}×)" if len(seconds) > 1 else "")
        table.add_row(*(Text(cell) for cell in (when, _end(file, file_width), explanation(reason))))
    return table


def _ago(seconds: float) -> str:
    """
    >>> _ago(0.2), _ago(59.9), _ago(61), _ago(7300)
    ('0 s ago', '59 s ago', '1 min ago', '2 h ago')
    """
    for length, unit in ((3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{int(seconds)} s ago"


def _end(text: str, most: int) -> str:
    """
    >>> _end("a/b.py", 6), _end("a/b/c.py", 6)
    ('a/b.py', '…/c.py')
    """
    return text if len(text) <= most else f"…{text[len(text) - most + 1 :]}"


def _shown(document: str) -> str:
    """Relative to where we are, or to the home directory, where the file lies below."""
    path = _path(document)
    if path is None:
        return document
    for folder, mark in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(folder):
            return mark + path.relative_to(folder).as_posix()
    return str(path)


def _path(document: str) -> Path | None:
    """The path in a `file` URI, however the editor has spelt it; None of any other."""
    if not document.lower().startswith("file://"):
        return None
    return Path(url2pathname(document[len("file://") :]))


def _names(document: str, file: Path) -> bool:
    path = _path(document)
    return path is not None and path.resolve() == file.resolve()
