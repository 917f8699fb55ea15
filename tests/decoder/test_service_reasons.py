"""Why nothing was shown, as the decoder keeps it for `draftline explain`."""

from decoder.wire.connection import Connection
from decoder.wire.endpoint import Endpoint
from decoder.wire.messages import Cancel, Reason, Reasons, ReasonsQuery, Silence, Status
from tests.decoder.serving import answer, ask, client, ready, received, serving, until
from tests.fakes import ScriptedEngine

A, B = "file:///a.py", "file:///b.rs"


async def reasons(connection: Connection, document: str = "") -> list[tuple[str, str, str]]:
    connection.send(ReasonsQuery(document))
    while not isinstance(reply := await received(connection), Reasons):
        assert isinstance(reply, Status), reply
    return [(entry.document, entry.language, entry.reason) for entry in reply.entries]


class Wordless(ScriptedEngine):
    """Has nothing to say."""

    def __init__(self) -> None:
        super().__init__("")


async def test_all_windows_and_both_ends_are_in_it_the_newest_first(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(error=ValueError("x"))
    async with serving(endpoint, engine), client(endpoint) as one, client(endpoint) as two:
        await ready(one)
        one.send(ask(1, A))
        await answer(one)
        two.send(Silence(B, "rust", "suppressed:inside_word"))
        two.send(Silence(A, "python", "suppressed:after_deletion"))
        assert await reasons(two) == [
            (A, "python", "suppressed:after_deletion"),
            (B, "rust", "suppressed:inside_word"),
            (A, "python", "engine_error: ValueError('x')"),
        ]
        assert await reasons(one, B) == [(B, "rust", "suppressed:inside_word")]
        assert await reasons(one, "1:" + A) == [], "documents are named as the client names them"


async def test_what_was_shown_and_what_nobody_asked_for_is_not_in_it(endpoint: Endpoint) -> None:
    engine = ScriptedEngine("x = 1")
    async with serving(endpoint, engine), client(endpoint) as editor:
        await ready(editor)
        editor.send(ask(1, A))
        await answer(editor)
        engine.text = ""
        editor.send(ask(2, A, trigger="warm_up"))
        await answer(editor)
        assert await reasons(editor) == []


async def test_overtaken_requests_count_once(endpoint: Endpoint) -> None:
    engine = ScriptedEngine(held=True)
    async with serving(endpoint, engine), client(endpoint) as editor:
        await ready(editor)
        for number in range(5):
            editor.send(ask(number, A))
            await until(lambda number=number: len(engine.requests) == number + 1)  # type: ignore[misc]
        editor.send(Cancel(4))
        for _ in range(5):
            await answer(editor)
        assert await reasons(editor) == [(A, "python", "cancelled")]


async def test_entries_tell_their_age(endpoint: Endpoint) -> None:
    async with serving(endpoint, ScriptedEngine()), client(endpoint) as editor:
        await ready(editor)
        editor.send(Silence(A, "python", "suppressed:inside_word"))
        editor.send(ReasonsQuery())
        reply = await received(editor)
        assert isinstance(reply, Reasons)
        (entry,) = reply.entries
        assert isinstance(entry, Reason)
        assert 0 <= entry.seconds_ago < 5
