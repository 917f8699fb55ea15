"""LSP's base protocol: where one JSON body ends and the next header begins, and how to go on after garbage."""

import re
from dataclasses import dataclass

MAX_HEADER = 8 * 1024
"""Bytes of one header; more is garbage."""

MAX_BODY = 256 * 1024 * 1024
"""Bytes of one body; a larger announcement is garbage."""

_LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_NEXT = re.compile(rb"(?i)content-length[ \t]*:[ \t]*\d{1,12}[ \t]*\r\n")
_LONGEST_NEXT = 64
"""Bytes that may be the beginning of a header whose rest has not arrived."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Bytes that are no frame were skipped; `reason` says what was wrong with them."""

    reason: str


class FrameReader:
    """Cuts a stream of bytes into bodies. After garbage it goes on at the next Content-Length header."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._expected: int | None = None
        self._lost = False

    def feed(self, data: bytes) -> list[bytes | Garbage]:
        """The bodies that are complete now, and one Garbage for every stretch that had to be skipped."""
        self._buffer += data
        found: list[bytes | Garbage] = []
        while (item := self._next()) is not None:
            found.append(item)
        return found

    def _next(self) -> bytes | Garbage | None:
        if self._lost and not self._resynchronise():
            return None
        if self._expected is None:
            reason = self._read_header()
            if reason:
                self._lost = True
                del self._buffer[:1]  # what begins here is known to be no header
                return Garbage(reason)
        if self._expected is None or len(self._buffer) < self._expected:
            return None
        body = bytes(self._buffer[: self._expected])
        del self._buffer[: self._expected]
        self._expected = None
        return body

    def _read_header(self) -> str:
        """Sets the length of the next body once its header is complete; returns what is wrong with it, if anything."""
        end = _HEADER_END.search(self._buffer, 0, MAX_HEADER)
        if end is None:
            return f"a header of more than {MAX_HEADER} bytes" if len(self._buffer) >= MAX_HEADER else ""
        length = _LENGTH.search(self._buffer, 0, end.start())
        if length is None:
            return "a header without a valid Content-Length"
        announced = int(length[1])  # before the buffer changes under the match
        if announced > MAX_BODY:
            return f"a Content-Length of {announced} bytes, the limit is {MAX_BODY}"
        del self._buffer[: end.end()]
        self._expected = announced
        return ""

    def _resynchronise(self) -> bool:
        """Drops everything before the next header that could be one."""
        match = _NEXT.search(self._buffer)
        if match is None:
            del self._buffer[: max(0, len(self._buffer) - _LONGEST_NEXT)]
            return False
        del self._buffer[: match.start()]
        self._lost = False
        return True
