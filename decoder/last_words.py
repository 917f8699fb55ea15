"""Why no decoder runs, as far as it has left a trace: in one sentence with the remedy."""

from pathlib import Path

from decoder.config import ConfigError, DecoderConfig
from decoder.wire.launch import log_path

_TAIL_BYTES = 64 * 1024
_OURS = "draftline: "


def last_words() -> str:
    """The mistake in config.toml, else the last error in the log that nothing better followed, else how to start it."""
    try:
        DecoderConfig.load()
    except ConfigError as error:
        return f"{error}; then run `draftline decoder`"
    cause = _last_line(log_path().with_suffix(".stderr")) or _last_error(log_path())
    if cause:
        return f"{cause}; see {log_path()} and run `draftline decoder`"
    return "the first editor that runs `draftline serve` starts it, or `draftline decoder`"


def _last_error(log: Path) -> str:
    """The last error, without its time and place; "" where a model was ready, or all ended in order, after it."""
    for line in reversed(_tail(log)):
        if " ERROR " in line:
            return line.partition(" ERROR ")[2].partition(": ")[2].removeprefix("error: ")
        if " INFO decoder.loader: ready: " in line:
            return ""
    return ""


def _last_line(file: Path) -> str:
    """What a decoder said that failed before it could log; others may have left warnings of libraries there."""
    lines = _tail(file)
    if not lines or not (lines[-1].startswith(_OURS) or any(line.startswith("Traceback") for line in lines)):
        return ""
    return lines[-1].removeprefix(_OURS)


def _tail(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            opened.seek(max(file.stat().st_size - _TAIL_BYTES, 0))
            return opened.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return []
