"""Why no decoder runs, as far as it has left a trace: in one sentence with the remedy."""

import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from decoder.config import ConfigError, DecoderConfig
from decoder.wire.launch import log_path

_TAIL_BYTES = 64 * 1024
_OURS = "draftline: "
_HOW_TO_START = "the first editor that runs `draftline serve` starts it, or `draftline decoder`"


def last_words() -> str:
    """The mistake in config.toml, else the last error in the log that nothing better followed, else how to start it.

    What was said before the settings were changed, or about them where they are valid now, is history.
    """
    try:
        DecoderConfig.load()
    except ConfigError as error:
        return f"{error}; then run `draftline decoder`"
    config = DecoderConfig.path()
    said = _last_line(log_path().with_suffix(".stderr")) or _last_error(log_path())
    if said is None:
        return _HOW_TO_START
    if str(config) in said.text or said.at < _changed(config):
        return f"{config} is valid now, whatever an earlier decoder found wrong; {_HOW_TO_START}"
    return f"{said.text}; see {log_path()} and run `draftline decoder`"


@dataclass(frozen=True, slots=True)
class _Said:
    """at: seconds since the epoch."""

    text: str
    at: float


def _last_error(log: Path) -> _Said | None:
    """The last error, without its time and place; None where a model was ready, or all ended in order, after it."""
    for line in reversed(_tail(log)):
        if " ERROR " in line:
            stamp, _, rest = line.partition(" ERROR ")
            return _Said(rest.partition(": ")[2].removeprefix("error: "), _seconds(stamp))
        if " INFO decoder.loader: ready: " in line:
            return None
    return None


def _last_line(file: Path) -> _Said | None:
    """What a decoder said that failed before it could log; others may have left warnings of libraries there."""
    lines = _tail(file)
    if not lines or not (lines[-1].startswith(_OURS) or any(line.startswith("Traceback") for line in lines)):
        return None
    return _Said(lines[-1].removeprefix(_OURS), _changed(file))


def _seconds(stamp: str) -> float:
    """Of a local time as `logging` writes it; one that cannot be read counts as the latest of all."""
    try:
        return datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f").astimezone().timestamp()
    except ValueError:
        return math.inf


def _changed(file: Path) -> float:
    """When, in seconds since the epoch; 0 for a file that is not there."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _tail(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            opened.seek(max(file.stat().st_size - _TAIL_BYTES, 0))
            return opened.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return []
