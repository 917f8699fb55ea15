"""A `RemoteEngine` over a scripted server: the texts are those of a local one, and errors have a remedy."""

import asyncio
from collections.abc import Callable

import pytest

from decoder.blank_line import prompted_prefix
from decoder.engine import EngineError
from decoder.remote.breaker import FAILURES
from decoder.stopping import Stopping
from decoder.wire.messages import Complete, Sampling, Shown, TokenCounts
from drafting.lines import to_lf
from drafting.syntax import Syntax
from tests.decoder.remote.engines import BLOCK, BODY, answer_of, ask, gone, remote
from tests.decoder.scripted_server import Asked, Reply, event, refusing, writing
from tests.decoder.test_completion_cases import CASES, Case


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("size", [1, 1000], ids=["tokens", "whole"])
@pytest.mark.parametrize("case", [case for case in CASES if "half a char" not in case.name], ids=lambda case: case.name)
async def test_a_text_is_shown_as_the_rules_say(case: Case, size: int, line_end: str) -> None:
    before, _, after = case.document.replace("\n", line_end).partition("▮")
    request = Complete(1, "1:x", case.language, before, after, trigger=case.trigger)
    typed = to_lf(before)[len(prompted_prefix(request)) :]
    for written in dict.fromkeys((case.written, typed + case.written)):
        answer = await answer_of(writing(written, size=size), request)
        assert Shown(answer.text, answer.replaces) == by_the_rules(request, written)
        assert answer.text or answer.reason == "nothing_left_after_trim"
    read = to_lf(before)[: len(to_lf(before)) - answer.replaces] + answer.text + to_lf(after)
    assert read == case.read, "a model that writes the line from its beginning"


def by_the_rules(request: Complete, written: str) -> Shown:
    stopping = Stopping.of(request, Syntax().grammar(request.language))
    return stopping.trim(written[: stopping.end(written)])


async def test_the_prompt_ends_at_the_cursor_and_has_lf() -> None:
    async with remote(writing("1\n")) as (engine, server):
        await engine.complete(ask("a = 1\r\nb = ", "\r\nc\r\n"))
        await engine.complete(ask("if a:\r\n    ", id=2))
        first, second = server.asked
    assert first.body["prompt"] == "a = 1\nb = "
    assert second.body["prompt"] == "if a:\n", "not the blanks of a line that has nothing else"


async def test_a_family_with_markers_sees_the_suffix_and_ends_texts_at_its_own_markers() -> None:
    async with remote(writing("1\n"), family="qwen2.5-coder") as (engine, server):
        await engine.complete(ask("a = ", "\nb"))
        body = server.asked[0].body
    assert body["prompt"] == "<|fim_prefix|>a = <|fim_suffix|>\nb<|fim_middle|>"
    assert body["stop"] == ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>"]


@pytest.mark.parametrize("family", ["prefix", "codellama", "codestral"])
async def test_nothing_that_a_text_may_hold_is_a_stop_string(family: str) -> None:
    async with remote(writing("1\n"), family=family) as (engine, server):
        await engine.complete(ask("a = "))
        assert "stop" not in server.asked[0].body


async def test_half_a_character_is_never_shown() -> None:
    for steps in (("é", "\ufffd", "\ufffd"), ("é", "\ud83d"), ("é", "\ud83d", "x")):
        assert (await answer_of(Reply(steps), ask("s = "))).text == "é"
    assert (await answer_of(Reply(("é", "\ud83d", "\ude00\n")), ask("s = "))).text == "é😀"


@pytest.mark.parametrize(
    ("reply", "text", "finish", "reason"),
    [
        (writing("1\n2\n"), "1", "stop", ""),
        (writing("1"), "1", "stop", ""),
        (writing("1", finish="length"), "1", "length", ""),
        (writing(""), "", "none", "model_wrote_nothing"),
        (writing("\n\n"), "", "none", "model_wrote_nothing"),
        (writing("ab" * 60), "", "none", "nothing_left_after_trim"),
    ],
)
async def test_why_a_text_ends(reply: Reply, text: str, finish: str, reason: str) -> None:
    answer = await answer_of(reply, ask("x = "))
    assert (answer.text, answer.finish, answer.reason) == (text, finish, reason)
    assert (answer.model, answer.language) == ("NAME", "python")


@pytest.mark.parametrize(
    ("written", "finish", "text"),
    [
        ("    width = self.width\n    retu", "length", "    width = self.width"),
        ("    width = self.width\n    retu", "stop", "    width = self.width\n    retu"),
        ("    width = self.wid", "length", "    width = self.wid"),
    ],
)
async def test_half_a_line_after_whole_ones_is_left_out_where_the_text_was_cut(
    written: str, finish: str, text: str
) -> None:
    answer = await answer_of(writing(written, finish=finish), ask(BLOCK))
    assert (answer.text, answer.finish) == (text, finish)


async def test_what_the_server_counts_is_told() -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}\n\n'
    answer = await answer_of(Reply((event("1", finish_reason="stop"), usage)), ask("x = "))
    assert answer.tokens == TokenCounts(9, 0, 4)
    assert answer.timings_ms.total >= answer.timings_ms.prefill > 0
    assert (await answer_of(Reply(("1", "2")), ask("x = "))).tokens == TokenCounts(0, 0, 2)


async def test_how_a_text_is_sampled() -> None:
    async with remote(writing("1\n"), sampling=Sampling(temperature=0.3)) as (engine, server):
        await engine.complete(ask("x = "))
        await engine.complete(ask("x = ", sampling=Sampling(0.5, seed=7), max_tokens=9, id=2))
        bodies = [asked.body for asked in server.asked]
    assert [body["temperature"] for body in bodies] == [0.3, 0.5]
    assert [body["max_tokens"] for body in bodies] == [64, 9]
    assert bodies[1]["seed"] == 7


# When nothing is asked -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (ask(" \n"), "suppressed:nothing_before"),
        (ask("x = ", trigger="warm_up"), "warmed_up"),
        (ask("x = 1  # a ", comments=False), "suppressed:comment"),
    ],
)
async def test_what_needs_no_server(request_: Complete, reason: str) -> None:
    async with remote(writing("x")) as (engine, server):
        answer = await engine.complete(request_)
        assert (answer.text, answer.reason) == ("", reason)
        assert server.asked == []


async def test_a_comment_is_written_where_it_is_wanted() -> None:
    assert (await answer_of(writing("note\n"), ask("x = 1  # a "))).text == "note"


async def test_a_length_that_means_nothing_is_refused() -> None:
    with pytest.raises(EngineError, match="max_tokens 0 is less than 1"):
        await answer_of(writing("x"), ask("x = ", max_tokens=0))


# Candidates -----------------------------------------------------------------------------------------------------------


def by_seed(*texts: str) -> Callable[[Asked], Reply]:
    return lambda asked: writing(texts[asked.body.get("seed", 0)])


async def test_other_candidates_differ_and_are_sampled() -> None:
    async with remote(by_seed("a\n", "b\n", "c\n")) as (engine, server):
        answer = await engine.complete(ask("x = ", trigger="invoked", candidates=5))
        assert answer.text == "a"
        assert {shown.text for shown in answer.alternatives} == {"b", "c"}
        temperatures = sorted(asked.body["temperature"] for asked in server.asked)
    assert temperatures == [0.0, 0.8, 0.8]


async def test_the_same_text_twice_is_one_candidate() -> None:
    request = ask("x = ", trigger="invoked", candidates=3)
    assert (await answer_of(by_seed("a\n", "b\n", "b \n"), request)).alternatives == (Shown("b"),)
    assert (await answer_of(by_seed("a\n", "a\nz\n", ""), request)).alternatives == ()


async def test_whoever_does_not_ask_for_candidates_gets_none() -> None:
    for request in (ask("x = ", candidates=3), ask("x = ", trigger="invoked")):
        async with remote(by_seed("a\n", "b\n", "c\n")) as (engine, server):
            assert (await engine.complete(request)).alternatives == ()
            assert len(server.asked) == 1


async def test_a_candidate_that_fails_is_left_out() -> None:
    def script(asked: Asked) -> Reply:
        return refusing(500) if asked.body.get("seed") == 1 else by_seed("a\n", "", "c\n")(asked)

    answer = await answer_of(script, ask("x = ", trigger="invoked", candidates=3))
    assert (answer.text, answer.alternatives) == ("a", (Shown("c"),))


async def test_cancelling_closes_every_candidates_connection() -> None:
    async with remote(Reply((asyncio.Event(),))) as (engine, server):
        task = asyncio.create_task(engine.complete(ask("x = ", trigger="invoked", candidates=3)))
        await server.wait_for(3)
        task.cancel()
        for number in (1, 2, 3):
            assert await gone(server, number)


# Faults ---------------------------------------------------------------------------------------------------------------


async def test_a_stream_that_breaks_off_shows_what_is_complete_and_says_so() -> None:
    first, second = BODY.splitlines(keepends=True)
    answer = await answer_of(Reply((first, second[:7], None)), ask(BLOCK))
    assert answer.text == first.rstrip("\n")
    assert "broke off" in answer.reason
    with pytest.raises(EngineError, match="broke off"):
        await answer_of(Reply(("retu", None)), ask("x = "))


async def test_a_server_that_fails_is_left_in_peace_and_found_again() -> None:
    told: list[str] = []
    async with remote(refusing(500, "boom"), on_trouble=told.append) as (engine, server):
        for number in range(FAILURES + 2):
            with pytest.raises(EngineError, match=r"log \(draftline tries again by itself\)$") as caught:
                await engine.complete(ask(f"x{number} = "))
        assert len(server.asked) == FAILURES
        assert len(told) == 1
        assert told[0].endswith("answered 500 (boom); see the server's log (draftline tries again by itself)")
        assert told[0] == str(caught.value), "the reason of an answer and the status are one sentence"
        server.script = lambda _asked: writing("1\n")
        engine._breaker._until = 0.0
        assert (await engine.complete(ask("x = "))).text == "1"
        assert told[1:] == [""]


@pytest.mark.parametrize("status", [401, 404, 400])
async def test_of_a_mistake_nobody_says_that_trying_again_helps(status: int) -> None:
    async with remote(refusing(status)) as (engine, _):
        with pytest.raises(EngineError) as caught:
            await engine.complete(ask("x = "))
    assert "by itself" not in str(caught.value)


async def test_an_older_stream_that_ends_lets_no_second_probe_pass() -> None:
    async with remote(Reply(("1\n2", asyncio.Event())), background_tokens=64) as (engine, server):
        assert (await engine.complete(ask("x = "))).text == "1"
        server.script = lambda _asked: refusing(404)
        with pytest.raises(EngineError):
            await engine.complete(Complete(2, "1:z.py", "python", "z = ", ""))
        engine._breaker._until = 0.0
        server.script = lambda _asked: Reply(silent=True)
        probe = asyncio.create_task(engine.complete(ask("another = ", id=3)))
        await server.wait_for(3)
        assert await gone(server, 1)
        with pytest.raises(EngineError, match="answered 404"):
            await engine.complete(Complete(4, "1:z.py", "python", "z = ", ""))
        probe.cancel()
        await asyncio.wait([probe])


async def test_a_server_that_is_not_there_is_told_at_once_and_a_first_failure_of_another_kind_is_not() -> None:
    for script, opens in ((Reply(("a", None)), False), (Reply((asyncio.Event(),)), True)):
        told: list[str] = []
        async with remote(script, settings={"first_token_seconds": 0.1}, on_trouble=told.append) as (engine, _):
            with pytest.raises(EngineError):
                await engine.complete(ask("x = "))
        assert bool(told) is opens


async def test_a_probe_that_is_cancelled_is_followed_by_another() -> None:
    async with remote(refusing(404)) as (engine, server):
        with pytest.raises(EngineError):
            await engine.complete(ask("x = "))
        engine._breaker._until = 0.0
        server.script = lambda _asked: Reply(silent=True)
        probe = asyncio.create_task(engine.complete(ask("y = ")))
        await server.wait_for(2)
        with pytest.raises(EngineError, match="answered 404"):
            await engine.complete(Complete(2, "1:z.py", "python", "z = ", ""))
        probe.cancel()
        assert await gone(server, 2)
        server.script = lambda _asked: writing("1\n")
        assert (await engine.complete(ask("x = "))).text == "1"
