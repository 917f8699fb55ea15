"""Server-sent events, from bytes in whatever chunks they come (HTML standard, section 9.2); or one JSON object."""

from decoder.remote.errors import RemoteError

_LONGEST = 1 << 20
"""Bytes of an event; whoever sends more does not send tokens."""


class Events:
    r"""Cuts a stream into the data of its events; comments and other fields are skipped.

    A server that does not stream sends one JSON object instead: it counts as the data of one event.

    >>> events = Events()
    >>> events.feed(b"data: a\r\n\r\n: alive\n\ndata: b\n")
    ['a']
    >>> events.feed(b"\n")
    ['b']
    >>> whole = Events()
    >>> whole.feed(b'{"a":\n 1}'), whole.finish()
    ([], ['{"a":\n 1}'])
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._is_object: bool | None = None

    def feed(self, chunk: bytes) -> list[str]:
        """The events that are complete now. Raises RemoteError for one without end."""
        text = self._rest + chunk
        if self._is_object is None and (begin := text.lstrip()):
            self._is_object = begin.startswith(b"{")
        if self._is_object:
            self._rest = self._bounded(text)
            return []
        held = b"\r" if text.endswith(b"\r") else b""  # an LF may follow it
        text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, last = text.split(b"\n")
        self._rest = self._bounded(last + held)
        return [event for line in lines if (event := self._take(line)) is not None]

    def finish(self) -> list[str]:
        """What has come of an event whose end the server left out, or the one object."""
        if self._is_object:
            return [self._rest.decode("utf-8", "replace")]
        return self.feed(b"\n\n")

    def _bounded(self, rest: bytes) -> bytes:
        if len(rest) + sum(map(len, self._data)) > _LONGEST:
            raise RemoteError(f"the server sent an event of more than {_LONGEST:,} bytes")
        return rest

    def _take(self, line: bytes) -> str | None:
        """The event that ends with this line, if one does. Some servers name a field `error` for their errors."""
        if line:
            name, _, value = line.decode("utf-8", "replace").partition(":")
            if name in ("data", "error"):
                self._data.append(value.removeprefix(" "))
            return None
        event, self._data = "\n".join(self._data), []
        return event or None
