"""What an event of a stream says, and what may be shown of the text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.remote.errors import RemoteError
from decoder.remote.piece import Piece, told
from decoder.remote.visible import visible
from decoder.wire.messages import TokenCounts


@pytest.mark.parametrize(
    ("event", "piece"),
    [
        ({"choices": [{"text": "a"}]}, Piece("a")),
        ({"choices": [{"text": "a", "finish_reason": None}], "usage": None}, Piece("a")),
        ({"choices": [{"text": "", "finish_reason": "length"}]}, Piece("", "length")),
        ({"choices": [{"text": None, "finish_reason": "stop"}], "error": None}, Piece("", "stop")),
        ({"choices": []}, Piece()),
        ({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}, Piece("", "", TokenCounts(9, 0, 2))),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}},
            Piece("", "", TokenCounts(9, 8, 2)),
        ),
    ],
)
def test_what_servers_send(event: dict[str, Any], piece: Piece) -> None:
    assert Piece.of(json.dumps(event)) == piece


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[]",
        '"text"',
        "null",
        "{}",
        '{"content": "a"}',
        '{"choices": [3]}',
        '{"choices": [{"text": 3}]}',
        '{"choices": 3}',
        "[" * 9999,
    ],
)
def test_what_is_no_completion_is_an_error(data: str) -> None:
    with pytest.raises(RemoteError, match="not one of an OpenAI-compatible completions API"):
        Piece.of(data)


def test_an_error_in_the_stream_is_told() -> None:
    with pytest.raises(RemoteError, match="stopped with an error \\(no slot is free\\)"):
        Piece.of('{"error": {"code": 500, "message": "no slot\\nis free"}}')


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": {"message": "a\n b"}}, "a b"),
        ({"error": "a"}, "a"),
        ({"detail": "a"}, "a"),
        ({"object": "error", "message": "a", "code": 400}, "a"),
        ({"code": 400}, '{"code": 400}'),
        ("x" * 1000, "x" * 200 + "…"),
    ],
)
def test_an_errors_body_in_one_line(body: Any, text: str) -> None:
    assert told(body) == text


@given(st.text(), st.integers(1, 5))
def test_what_is_shown_early_stays(text: str, size: int) -> None:
    """In JSON with escapes, a character beyond the first 65,536 is two, which may come apart."""
    halves = [chr(int.from_bytes(pair, "little")) for pair in _pairs(text.encode("utf-16-le"))]
    whole, shown = visible("".join(halves), over=True), ""
    for end in range(0, len(halves), size):
        now = visible("".join(halves[:end]), over=False)
        assert now.startswith(shown)
        assert whole.startswith(now)
        shown = now


@given(st.text(st.characters(exclude_characters="\r\ufffd", exclude_categories=["Cs"])))
def test_an_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text, over=True) == visible(text, over=False) == text


def _pairs(data: bytes) -> list[bytes]:
    return [data[begin : begin + 2] for begin in range(0, len(data), 2)]
