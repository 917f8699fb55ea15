"""A `RemoteEngine` and a person who types: nothing is asked that is written already, or that nobody waits for."""

import asyncio
import time

import pytest

from decoder.wire.messages import Complete, Sampling, TokenCounts
from tests.decoder.remote.engines import BLOCK, BODY, NEXT, answer_of, ask, gone, remote
from tests.decoder.scripted_server import Asked, Reply, Script, writing
from tests.decoder.serving import until


def scripted_by_prompt(replies: dict[str, str]) -> Script:
    """Writes the text that belongs to the end of the prompt."""

    def reply(asked: Asked) -> Reply:
        return next(writing(text) for cue, text in replies.items() if asked.body["prompt"].endswith(cue))

    return reply


async def test_what_is_written_already_answers_whoever_types_along_or_accepts() -> None:
    async with remote(writing(BODY + NEXT, size=1000), background_tokens=64) as (engine, server):
        first = await engine.complete(ask(BLOCK))
        assert first.text == BODY.rstrip("\n")
        typed = await engine.complete(ask(BLOCK + BODY[:10], id=2))
        assert typed.text == BODY[10:].split("\n")[0]
        accepted = await engine.complete(ask(BLOCK + first.text, id=3))
        assert accepted.text == "\n" + NEXT.rstrip("\n")
        assert typed.tokens == TokenCounts()
        assert len(server.asked) == 1


async def test_a_request_waits_for_the_stream_that_will_have_its_text() -> None:
    gate = asyncio.Event()
    async with remote(Reply(("a(", "b)\n", gate, "c(d)\n")), background_tokens=64) as (engine, server):
        assert (await engine.complete(ask("x = "))).text == "a(b)"
        more = asyncio.create_task(engine.complete(ask("x = a(b)\n", id=2)))
        await asyncio.sleep(0)
        gate.set()
        assert (await more).text == "c(d)"
        assert len(server.asked) == 1


async def test_what_diverges_closes_the_stream_and_asks_anew() -> None:
    script = scripted_by_prompt({"x = z": "ebra\n"})

    def reply(asked: Asked) -> Reply:
        return Reply(("a\n", asyncio.Event())) if asked.body["prompt"] == "x = " else script(asked)

    async with remote(reply, background_tokens=64) as (engine, server):
        await engine.complete(ask("x = "))
        assert not server.asked[0].gone.is_set(), "it writes ahead"
        assert (await engine.complete(ask("x = z", id=2))).text == "ebra"
        assert await gone(server, 1)


async def test_the_suffix_matters_to_a_model_that_has_read_it() -> None:
    for family, num_asked in (("prefix", 1), ("starcoder2", 2)):
        async with remote(writing("a\n"), family=family, background_tokens=64) as (engine, server):
            await engine.complete(ask("x = ", "\ny = 1\n"))
            await engine.complete(ask("x = ", "\nz = 2\n", id=2))
            assert len(server.asked) == num_asked


async def test_other_sampling_is_another_text() -> None:
    async with remote(writing("a\n"), background_tokens=64) as (engine, server):
        await engine.complete(ask("x = "))
        await engine.complete(ask("x = ", sampling=Sampling(0.5), id=2))
        assert len(server.asked) == 2


async def test_documents_do_not_share_a_text() -> None:
    async with remote(writing("a\n"), background_tokens=64) as (engine, server):
        await engine.complete(ask("x = "))
        await engine.complete(Complete(2, "1:y.py", "python", "x = ", ""))
        assert len(server.asked) == 2


async def test_a_text_that_was_cut_is_asked_for_anew_where_more_is_wanted() -> None:
    def script(asked: Asked) -> Reply:
        return writing("aa", finish="length") if asked.body["prompt"] == "x = " else writing("ab\n")

    async with remote(script) as (engine, server):
        assert (await engine.complete(ask("x = "))).finish == "length"
        assert (await engine.complete(ask("x = a", id=2))).text == "ab"
        assert len(server.asked) == 2


@pytest.mark.parametrize(("background_tokens", "saves_power"), [(0, False), (64, True)])
async def test_nothing_is_written_ahead_where_that_is_not_wanted(background_tokens: int, saves_power: bool) -> None:
    script = Reply(("a\n", asyncio.Event()))
    async with remote(script, background_tokens=background_tokens, saves_power=lambda: saves_power) as (engine, server):
        await engine.complete(ask("x = "))
        assert await gone(server, 1)


async def test_writing_ahead_ends_after_so_many_tokens() -> None:
    gate = asyncio.Event()
    async with remote(Reply(("a\n", gate, *"bcdefghijk", asyncio.Event())), background_tokens=3) as (engine, server):
        await engine.complete(ask("x = "))
        gate.set()
        assert await gone(server, 1)


# Deadline and cancellation --------------------------------------------------------------------------------------------


async def test_at_the_deadline_what_is_complete_is_shown_and_the_rest_comes_later() -> None:
    gate = asyncio.Event()
    first, second = BODY.splitlines(keepends=True)
    async with remote(Reply((first, "    ret", gate, second[7:], NEXT)), background_tokens=64) as (engine, server):
        answer = await engine.complete(ask(BLOCK, deadline_ms=30))
        assert (answer.text, answer.finish) == (first.rstrip("\n"), "deadline")
        gate.set()
        later = await engine.complete(ask(BLOCK + first, id=2, deadline_ms=5000))
        assert (later.text, later.finish) == (second.rstrip("\n"), "stop")
        assert len(server.asked) == 1


async def test_a_text_that_is_complete_in_time_waits_for_no_deadline() -> None:
    started = time.perf_counter()
    answer = await answer_of(writing(BODY + NEXT), ask(BLOCK, deadline_ms=5000))
    assert (answer.text, answer.finish) == (BODY.rstrip("\n"), "stop")
    assert time.perf_counter() - started < 3


async def test_cancelling_closes_the_connection_at_once() -> None:
    for steps in ((asyncio.Event(),), ("a", asyncio.Event())):
        async with remote(Reply(steps), background_tokens=64) as (engine, server):
            task = asyncio.create_task(engine.complete(ask("x = ")))
            await server.wait_for(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            started = time.perf_counter()
            assert await gone(server, 1)
            assert time.perf_counter() - started < 0.2


async def test_a_request_that_types_along_takes_over_from_the_one_it_supersedes() -> None:
    gate = asyncio.Event()
    async with remote(Reply(("abc", gate, "def\n"))) as (engine, server):
        first = asyncio.create_task(engine.complete(ask("x = ")))
        await server.wait_for(1)
        await until(lambda: bool(engine._writings["1:x.py"].written.text))
        first.cancel()
        second = asyncio.create_task(engine.complete(ask("x = ab", id=2)))
        await asyncio.sleep(0.01)
        gate.set()
        assert (await second).text == "cdef"
        assert len(server.asked) == 1


async def test_closing_hangs_up_on_everything() -> None:
    async with remote(Reply(("a\n", asyncio.Event())), background_tokens=64) as (engine, server):
        await engine.complete(ask("x = "))
        await engine.aclose()
        assert await gone(server, 1)
