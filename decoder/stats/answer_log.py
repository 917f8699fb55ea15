"""Reads the latency log back: its answers since a time, one after the other, however the file ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack

from decoder.telemetry import RECORD_VERSION


class AnswerLog:
    """The log in a directory with the part that was set aside before it, read once.

    num_unknown: records of another version or form that were passed over. num_torn: files that end, or go on, in what
    is no record; what stands behind that is lost.
    """

    def __init__(self, directory: Path) -> None:
        self._paths = [directory / "telemetry.msgpack.1", directory / "telemetry.msgpack"]
        self.num_unknown = 0
        self.num_torn = 0

    def answers(self, since: float = 0.0) -> Iterator[dict[str, Any]]:
        """Records as `TelemetryLog` describes them, those not older than `since` (seconds since 1970)."""
        return self._of_kind("answer", since)

    def unanswered(self, since: float = 0.0) -> Iterator[dict[str, Any]]:
        """Likewise those of steps that are in no answer."""
        return self._of_kind("unanswered", since)

    def _of_kind(self, kind: str, since: float) -> Iterator[dict[str, Any]]:
        for path in self._paths:
            for record in self._records(path):
                if not _is_sound(record):
                    self.num_unknown += 1
                elif record["kind"] == kind and record["time"] >= since:
                    yield record

    def _records(self, path: Path) -> Iterator[Any]:
        try:
            content = path.read_bytes()  # at most telemetry.MAX_BYTES
        except OSError:  # none was written yet, or what has its name is no file
            return
        records = msgpack.Unpacker()
        records.feed(content)
        try:
            yield from records
        except (ValueError, msgpack.UnpackException):
            self.num_torn += 1
        else:
            self.num_torn += records.tell() < len(content)


def _is_sound(record: Any) -> bool:
    """Whether it is a record of this version with all that is read of one."""
    if (
        not isinstance(record, dict)
        or record.get("v") != RECORD_VERSION
        or not isinstance(record.get("time"), float | int)
    ):
        return False
    if record.get("kind") != "answer":
        return "kind" in record
    parts = (record.get(name) for name in ("timings_ms", "tokens", "speculation"))
    return isinstance(record.get("language"), str) and all(isinstance(part, dict) for part in parts)
