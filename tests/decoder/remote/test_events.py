"""Server-sent events, however their bytes are cut."""

import pytest

from decoder.remote.errors import RemoteError
from decoder.remote.events import Events

STREAM = (
    ': alive\r\n\r\ndata: {"a": "é😀"}\r\n\r\nevent: x\rdata:b\r\rdata: c\ndata: d\n\n\n\nid: 1\n\ndata: \u2028\x85\n\n'
)
READ = ['{"a": "é😀"}', "b", "c\nd", "\u2028\x85"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_where_the_bytes_are_cut_makes_no_difference(size: int) -> None:
    data, events = STREAM.encode(), Events()
    read = [event for begin in range(0, len(data), size) for event in events.feed(data[begin : begin + size])]
    assert read == READ
    assert events.finish() == []


def test_an_end_that_was_left_out_is_made_up_for() -> None:
    events = Events()
    assert events.feed(b"data: a\n\ndata: b") == ["a"]
    assert events.finish() == ["b"]


def test_a_field_named_error_is_data_as_well() -> None:
    assert Events().feed(b'error: {"code": 500}\n\n') == ['{"code": 500}']


def test_a_long_event_is_read_and_one_without_end_refused() -> None:
    long = b"x" * 500_000
    assert Events().feed(b"data: " + long + b"\n\n") == [long.decode()]
    events = Events()
    for _ in range(20):
        events.feed(b"x" * 50_000)
    with pytest.raises(RemoteError, match="an event of more than"):
        events.feed(b"x" * 50_000)
