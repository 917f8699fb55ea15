"""Bodies come out as they went in, however the bytes arrive; after garbage the next message is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_server.framing import MAX_BODY, MAX_HEADER, FrameReader, Garbage


def frame(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def bodies(items: list[bytes | Garbage]) -> list[bytes]:
    return [item for item in items if isinstance(item, bytes)]


@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(1, 30), min_size=1))
def test_bodies_come_out_as_they_went_in_however_the_bytes_arrive(contents: list[bytes], sizes: list[int]) -> None:
    stream, reader = b"".join(map(frame, contents)), FrameReader()
    found: list[bytes | Garbage] = []
    while stream:
        size = sizes[len(found) % len(sizes)]
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert found == contents


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc\r\nContent-Length: %d\r\n\r\n",
        b"content-length:%d\r\n\r\n",
        b"Content-Length: %d\n\n",
    ],
)
def test_headers_are_read_as_clients_write_them(header: bytes) -> None:
    assert FrameReader().feed(frame(b"{}", header)) == [b"{}"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: 9999999999999999999999\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 1),
        b"X: " + b"x" * 3 * MAX_HEADER,
        b"Content-Length: 5\r\n" + b"X: y\r\n" * MAX_HEADER,
    ],
)
def test_after_a_bad_header_the_next_message_is_found(garbage: bytes) -> None:
    found = FrameReader().feed(garbage + frame(b"first") + frame(b"second"))
    assert bodies(found) in ([b"first", b"second"], [b"second"])
    assert any(isinstance(item, Garbage) for item in found)


def test_a_length_that_is_too_short_or_too_long_costs_no_later_message() -> None:
    for announced in (1, 9):
        found = FrameReader().feed(b"Content-Length: %d\r\n\r\n[1,2]" % announced + frame(b"{}") + frame(b"[]"))
        assert bodies(found)[-1] == b"[]"


@given(st.binary(max_size=300), st.integers(1, 64))
def test_nothing_breaks_it_and_little_is_kept(noise: bytes, size: int) -> None:
    reader = FrameReader()
    stream = noise + b"x" * (2 * MAX_HEADER)
    for start in range(0, len(stream), size * 100):
        reader.feed(stream[start : start + size * 100])
    assert len(reader._buffer) <= 3 * MAX_HEADER
