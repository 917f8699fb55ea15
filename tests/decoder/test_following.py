"""The engine follows the person: what was written answers who types along, and is written ahead of who accepts."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from decoder.local_engine import Defaults
from decoder.wire.messages import Answer, Complete
from drafting.interface import Array
from tests.decoder.local import ask, engine
from tests.fakes import ScriptedModel

PREFIX = "def total(items):\n    n = "
TEXT = "sum(items)\n    return n\n\n\ndef mean(items):\n    return total(items) / len(items)\n"


def model() -> ScriptedModel:
    return ScriptedModel({PREFIX: TEXT, "other = ": "1\n", "x = ": "compute(a)\n"})


def typed(text: str, **changes: object) -> Complete:
    return replace(ask(PREFIX + text, id=2), **changes)  # type: ignore[arg-type]


async def settled(scripted: ScriptedModel) -> None:
    """Waits until the model has been left alone for a while."""
    count = -1
    while count != len(scripted.blocks):
        count = len(scripted.blocks)
        await asyncio.sleep(0.05)


async def test_what_is_typed_along_is_verified_already() -> None:
    scripted = model()
    async with engine(scripted) as made:
        first = await made.complete(ask(PREFIX))
        assert first.text == "sum(items)"
        num_passes = len(scripted.blocks)
        for end in range(1, len("sum(items)")):
            answer = await made.complete(typed("sum(items)"[:end]))
            assert answer.text == "sum(items)"[end:]
            assert (answer.finish, answer.speculation.steps) == ("stop", 0)
            assert answer.tokens.cached == answer.tokens.prompt
        assert len(scripted.blocks) == num_passes, "the model was not asked"


async def test_typing_along_gives_the_text_that_the_run_goes_on_with() -> None:
    async with engine(model()) as made:
        await made.complete(ask(PREFIX))
        answer = await made.complete(typed("sum(items)\n    "))
        assert answer.text == "return n"
        assert answer.tokens.prompt - answer.tokens.cached == 0


async def test_who_goes_another_way_is_answered_anew_from_the_split() -> None:
    scripted = ScriptedModel({PREFIX + "sumx": "(1)\n", PREFIX: TEXT})
    async with engine(scripted) as made:
        await made.complete(ask(PREFIX))
        answer = await made.complete(typed("sumx"))
        assert answer.text == "(1)"
        assert answer.tokens.cached == len(PREFIX) + len("sum") - 1


async def test_after_an_accept_what_comes_next_is_there() -> None:
    scripted = model()
    async with engine(scripted, defaults=Defaults(background_tokens=60)) as made:
        first = await made.complete(ask(PREFIX))
        await settled(scripted)
        num_passes = len(scripted.blocks)
        answer = await made.complete(typed(first.text + "\n    "))
        assert (answer.text, answer.speculation.steps) == ("return n", 0)
        assert answer.timings_ms.total < 100
        assert len(scripted.blocks) == num_passes


@pytest.mark.parametrize("num_tokens", [0, 1, 7])
async def test_no_more_is_written_ahead_than_was_allowed(num_tokens: int) -> None:
    scripted = model()
    async with engine(scripted, defaults=Defaults(background_tokens=num_tokens, draft="none")) as made:
        await made.complete(ask(PREFIX))
        before = len(scripted.blocks)
        await settled(scripted)
        written = len(scripted.held) - len(PREFIX) - len("sum(items)")
        assert max(0, written) <= num_tokens
        assert (len(scripted.blocks) > before) == (num_tokens > 1)


async def test_to_save_power_nothing_is_written_ahead() -> None:
    scripted = model()
    async with engine(scripted, defaults=Defaults(background_tokens=60), saves_power=lambda: True) as made:
        await made.complete(ask(PREFIX))
        before = len(scripted.blocks)
        await settled(scripted)
        assert len(scripted.blocks) == before


async def test_writing_ahead_ends_after_some_lines() -> None:
    scripted = ScriptedModel({"x = ": "1\n" + "".join(f"y{number} = {number}\n" for number in range(90))})
    async with engine(scripted, defaults=Defaults(background_tokens=1000)) as made:
        await made.complete(ask("x = "))
        await settled(scripted)
        assert bytes(scripted.held).count(b"\n") in (5, 6)


async def test_a_request_comes_before_what_is_written_ahead_and_drops_it() -> None:
    scripted = model()
    async with engine(scripted, defaults=Defaults(background_tokens=1000)) as made:
        await made.complete(ask(PREFIX))
        answer = await made.complete(replace(ask("other = ", id=2), document="1:other.py"))
        assert answer.text == "1"
        await settled(scripted)
        assert bytes(scripted.held).startswith(b"other = ")


async def test_a_request_that_was_given_up_leaves_what_it_had_written() -> None:
    class Slow(ScriptedModel):
        reached, gate = threading.Event(), threading.Event()

        def row(self, tokens: Sequence[int]) -> Array:
            if len(tokens) == len(PREFIX) + 3:
                self.reached.set()
                self.gate.wait(10)
            return super().row(tokens)

    scripted = Slow({PREFIX: TEXT})
    async with engine(scripted, defaults=Defaults(draft="none")) as made:
        first = asyncio.ensure_future(made.complete(ask(PREFIX)))
        await asyncio.to_thread(scripted.reached.wait, 10)
        first.cancel()
        await asyncio.sleep(0)
        scripted.gate.set()
        await asyncio.gather(first, return_exceptions=True)
        answer = await made.complete(typed("s"))
        assert answer.text == "um(items)"
        assert answer.tokens.cached == answer.tokens.prompt
        assert answer.speculation.steps < len("um(items)\n")


async def test_the_time_budget_ends_it_with_what_is_complete() -> None:
    scripted = ScriptedModel({"x = ": "first_name + second_name + third_name\n"})
    async with engine(scripted, defaults=Defaults(draft="none")) as made:
        answer = await made.complete(ask("x = ", deadline_ms=0.001))
        assert answer.finish == "deadline"
        assert answer.text == "first_name"
        whole = await made.complete(ask("x = ", id=2))
        assert whole.text == "first_name + second_name + third_name"


async def test_a_block_that_was_cut_off_ends_with_a_whole_line() -> None:
    async with engine(ScriptedModel({"if a:": "\n    b = first(1)\n    c = second(2)\n"})) as made:
        answer = await made.complete(ask("if a:", max_tokens=30))
        assert (answer.text, answer.finish) == ("\n    b = first(1)", "length")
        rest = await made.complete(ask("if a:\n    b = first(1)\n    ", id=2))
        assert (rest.text, rest.tokens.cached) == ("c = second(2)", rest.tokens.prompt)


async def test_where_no_line_is_whole_a_part_of_one_is_shown() -> None:
    async with engine(ScriptedModel({"if a:": "\n    b = first(1)\n", "x = ": "first(1)\n"})) as made:
        assert (await made.complete(ask("if a:", max_tokens=15))).text == "\n    b = first"
        assert (await made.complete(ask("x = ", id=2, max_tokens=6))).text == "first"


async def test_several_candidates_differ() -> None:
    class Undecided(ScriptedModel):
        """Between two replies it tosses a coin at their first letter."""

        def row(self, tokens: Sequence[int]) -> Array:
            logits = super().row(tokens)
            if bytes(tokens[-4:]) == b"x = ":
                logits[[ord("a"), ord("b"), ord("c")]] = 30.0, 29.9, 29.8
            return logits

    scripted = Undecided({"x = a": "lpha\n", "x = b": "eta\n", "x = c": "edilla\n"})
    async with engine(scripted) as made:
        answer = await made.complete(ask("x = ", trigger="invoked", candidates=3))
        texts = [answer.text, *(shown.text for shown in answer.alternatives)]
        assert answer.text == "alpha"
        assert len(set(texts)) == len(texts)
        assert len(texts) > 1
        again = await made.complete(ask("x = a", id=2))
        assert again.text == "lpha", "the first one is what is followed"
        alone = await made.complete(ask("x = ", id=3))
        assert alone.alternatives == ()


async def test_a_warm_up_reads_the_prompt_and_shows_nothing() -> None:
    scripted = model()
    async with engine(scripted) as made:
        answer = await made.complete(ask(PREFIX, trigger="warm_up"))
        assert answer == Answer(1, language="python", model="scripted", reason="warmed_up")
        first = await made.complete(ask(PREFIX, id=2))
        assert first.tokens.prompt - first.tokens.cached <= 2


async def test_a_warm_up_waits_for_requests() -> None:
    scripted = model()
    async with engine(scripted) as made:
        requests = [made.complete(ask(PREFIX)), made.complete(replace(ask("x = ", trigger="warm_up"), document="1:y"))]
        first, warm = await asyncio.gather(*requests)
        assert first.text == "sum(items)"
        assert warm.reason == "warmed_up"


async def test_other_settings_are_another_text() -> None:
    scripted = model()
    async with engine(scripted) as made:
        await made.complete(ask(PREFIX))
        before = len(scripted.blocks)
        await made.complete(typed("su", draft="none"))
        assert len(scripted.blocks) > before


async def test_comments_are_left_alone_where_they_are_not_wanted() -> None:
    async with engine(ScriptedModel({"# a": " note\n", "x = ": "1\n"})) as made:
        assert (await made.complete(ask("# a", comments=False))).reason == "suppressed:comment"
        assert (await made.complete(ask("# a", id=2))).text == " note"
        assert (await made.complete(ask("x = ", id=3, comments=False))).text == "1"


async def test_the_text_is_the_same_whether_it_was_written_at_once_or_followed() -> None:
    async with engine(model()) as whole, engine(model(), defaults=Defaults(background_tokens=9)) as followed:
        expected = (await whole.complete(ask(PREFIX, multiline="always", max_tokens=200))).text
        assert "mean" in expected or expected
        document, shown = PREFIX, ""
        while not shown or document.removeprefix(PREFIX) != TEXT.rstrip():
            answer = await followed.complete(ask(document, id=2, max_tokens=200))
            if not answer.text:
                break
            document += answer.text
            shown = answer.text
        assert TEXT.startswith(document.removeprefix(PREFIX))
        assert document.removeprefix(PREFIX).startswith("sum(items)\n    return n")


async def test_steps_that_are_in_no_answer_are_told() -> None:
    told: list[tuple[str, str, int]] = []
    defaults = Defaults(background_tokens=12, draft="none")
    scripted = model()
    async with engine(scripted, defaults=defaults, on_unanswered=lambda *unanswered: told.append(unanswered)) as made:
        await made.complete(ask(PREFIX))
        await settled(scripted)
    assert told == [("python", "ahead", 11)], "one more, the line end, was written for the answer"
