"""What goes wrong while a text is followed or written ahead costs nobody an answer."""

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from decoder.engine import EngineError
from decoder.governor import Governor
from decoder.local_engine import Defaults
from decoder.wire.messages import Sampling
from drafting.interface import Array
from tests.decoder.local import ask, engine
from tests.decoder.serving import until
from tests.fakes import ScriptedModel

PREFIX = "n = "
TEXT = "sum(items)\nm = n\no = max(items)\n"
PLAIN = Defaults(background_tokens=60, draft="none")


class Watched(ScriptedModel):
    """Stands still before the token `at`, which is counted in the whole text, until it is let go on."""

    def __init__(self, at: int, raised: BaseException | None = None, *, poison: bool = False) -> None:
        super().__init__({PREFIX: TEXT, "other = ": "1\n"})
        self.reached, self.released = threading.Event(), threading.Event()
        self._at = at
        self._raised = raised
        self._poison = poison

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        held = len(self.held)
        try:
            return super().extend(tokens, last=last)
        except BaseException:
            del self.held[held:]
            raise

    def row(self, tokens: Sequence[int]) -> Array:
        row = super().row(tokens)
        if len(tokens) == self._at and not self.reached.is_set() and bytes(tokens[:4]) == b"n = ":
            self.reached.set()
            assert self.released.wait(10)
            if self._raised:
                raise self._raised
            return row * np.float32("nan") if self._poison else row
        return row


@pytest.mark.parametrize("poison", [False, True])
async def test_a_fault_while_writing_ahead_is_no_end_of_the_text(
    poison: bool, caplog: pytest.LogCaptureFixture
) -> None:
    # the run was left with a dead generator: it had ended for all who followed it, and nobody was told
    first = "sum(items)"
    fault = None if poison else RuntimeError("the device has gone")
    model = Watched(len(PREFIX + first) + 3, fault, poison=poison)
    async with engine(model, defaults=PLAIN) as made:
        assert (await made.complete(ask(PREFIX))).text == first
        await until(model.reached.is_set)
        model.released.set()
        await until(lambda: "written ahead" in caplog.text)
        answer = await made.complete(ask(PREFIX + first + "\n", id=2))
        assert (answer.text, answer.finish) == ("m = n\no = max(items)", "stop")
        other = await made.complete(replace(ask("other = ", id=3), document="1:y.py"))
        assert other.text == "1"


async def test_after_a_fault_the_text_so_far_is_still_followed() -> None:
    model = Watched(len(PREFIX) + 5, RuntimeError("the device has gone"))
    model.released.set()
    async with engine(model, defaults=PLAIN) as made:
        with pytest.raises(RuntimeError, match="has gone"):
            await made.complete(ask(PREFIX))
        answer = await made.complete(ask(PREFIX + "su", id=2))
        assert answer.text == "m(items)"
        assert answer.speculation.steps < len("sum(items)\n")


async def test_nonsense_of_one_client_costs_no_other_client_a_text() -> None:
    model = ScriptedModel({PREFIX: TEXT})
    async with engine(model) as made:
        await made.complete(ask(PREFIX))
        num_passes = len(model.blocks)
        with pytest.raises(EngineError, match="top_p"):
            await made.complete(replace(ask("y", id=2, sampling=Sampling(1.0, top_p=2.0)), document="2:y.py"))
        assert (await made.complete(ask(PREFIX + "s", id=3))).text == "um(items)"
        assert len(model.blocks) == num_passes


@pytest.mark.parametrize("ends", ["cancelled", "closed"])
@pytest.mark.parametrize("at", [len(PREFIX), len(PREFIX) + 2, len(PREFIX + "sum(items)") + 3])
async def test_in_whatever_state_the_engine_is_it_can_be_left_within_a_step(at: int, ends: str) -> None:
    """In healing, in decoding, and while it writes ahead."""
    model = Watched(at)
    async with engine(model, defaults=PLAIN) as made:
        asked = asyncio.ensure_future(made.complete(ask(PREFIX)))
        await until(model.reached.is_set)
        num_passes = len(model.blocks)
        leaving: asyncio.Future[Any]
        if ends == "closed":
            leaving = asyncio.ensure_future(made.aclose())
            await asyncio.sleep(0.02)
        elif asked.done():
            leaving = asyncio.ensure_future(made.complete(replace(ask("other = ", id=2), document="1:y.py")))
            await asyncio.sleep(0.02)
        else:
            asked.cancel()
            leaving = asked
            await asyncio.sleep(0)
        model.released.set()
        await asyncio.gather(asked, leaving, return_exceptions=True)
        if ends == "closed":
            assert len(model.blocks) <= num_passes + 1
        else:
            assert (await made.complete(ask(PREFIX, id=3))).text == "sum(items)"


async def test_a_request_waits_for_one_step_of_what_is_written_ahead() -> None:
    model = Watched(len(PREFIX + "sum(items)") + 3)
    async with engine(model, defaults=PLAIN) as made:
        await made.complete(ask(PREFIX))
        await until(model.reached.is_set)
        held = len(model.held)
        other = asyncio.ensure_future(made.complete(replace(ask("other = ", id=2), document="1:y.py")))
        await asyncio.sleep(0.02)
        model.released.set()
        assert (await other).text == "1"
        assert len(model.held) <= max(held, len("other = 1\n"))


async def test_load_that_comes_and_goes_begins_no_new_text() -> None:
    # what the load permits was taken for another setting
    model, governor = ScriptedModel({PREFIX: TEXT}), Governor()
    async with engine(model, governor=governor) as made:
        await made.complete(ask(PREFIX))
        num_passes = len(model.blocks)
        waiting = [governor.arrive(time.monotonic()) for _ in range(4)]
        assert not governor.permit(time.monotonic()).model
        assert (await made.complete(ask(PREFIX + "s", id=2))).text == "um(items)"
        assert len(model.blocks) == num_passes
        for ticket in waiting:
            governor.withdraw(ticket, time.monotonic())


async def test_what_was_warmed_up_is_followed_without_another_look() -> None:
    model = ScriptedModel({PREFIX: TEXT})
    async with engine(model) as made:
        await made.complete(ask(PREFIX))
        num_passes = len(model.blocks)
        assert (await made.complete(ask(PREFIX + "sum(items)", id=2, trigger="warm_up"))).reason == "warmed_up"
        assert (await made.complete(ask(PREFIX + "sum", id=3))).text == "(items)"
        assert len(model.blocks) == num_passes, "a warm-up within the text takes nothing away"


class Torn(ScriptedModel):
    """Cannot decide between letters, wherever a text begins."""

    def row(self, tokens: Sequence[int]) -> Array:
        logits = super().row(tokens)
        if bytes(tokens[-2:]) in (b"= ", b"=s"):
            logits[[ord(letter) for letter in "abcs"]] = 29.7, 29.8, 29.9, 30.0
        return logits


TORN = {"x = a": "lpha\n", "x = b": "eta\n", "x = c": "edilla\n", "x = s": "igma\n"}


async def test_who_has_typed_along_is_offered_others_as_well() -> None:
    async with engine(Torn({**TORN, "x =sa": "1\n", "x =sb": "2\n", "x =sc": "3\n", "x =s": "s\n"})) as made:
        await made.complete(ask("x =", multiline="never"))
        answer = await made.complete(ask("x = ", id=2, trigger="invoked", candidates=3))
        assert answer.text == "sigma"
        assert answer.alternatives


async def test_where_the_first_shows_nothing_the_next_candidate_does() -> None:
    async with engine(Torn({**TORN, "x = s": "\n"})) as made:
        answer = await made.complete(ask("x = ", "s\n", trigger="invoked", candidates=3))
        assert answer.text in ("alpha", "beta", "cedilla")
        assert answer.reason == ""
        assert all(shown.text for shown in answer.alternatives)


async def test_all_candidates_share_the_time_budget() -> None:
    # each of up to five had all of it
    class Slow(Torn):
        def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
            time.sleep(0.005)
            return super().extend(tokens, last=last)

    model = Slow({"x = ": "sigma + " * 40 + "\n"})
    async with engine(model, defaults=Defaults(draft="none")) as made:
        begun = time.perf_counter()
        answer = await made.complete(ask("x = ", trigger="invoked", candidates=3, deadline_ms=90, max_tokens=300))
        assert answer.finish == "deadline"
        assert time.perf_counter() - begun < 0.09 + 0.09


async def test_the_last_seed_has_candidates_too() -> None:
    async with engine(Torn(TORN)) as made:
        answer = await made.complete(ask("x = ", candidates=2, sampling=Sampling(0.0, seed=2**64 - 1)))
        assert answer.text == "sigma"


async def test_nothing_is_written_ahead_for_one_while_another_waits() -> None:
    model = Watched(len(PREFIX) + 2)
    async with engine(model, defaults=PLAIN) as made:
        first = asyncio.ensure_future(made.complete(ask(PREFIX)))
        await until(model.reached.is_set)
        other = asyncio.ensure_future(made.complete(replace(ask("other = ", id=2), document="1:y.py")))
        await asyncio.sleep(0.01)
        model.released.set()
        await asyncio.gather(first, other)
        await made.complete(replace(ask("other = ", id=3), document="1:y.py"))
        num_first = len(PREFIX + "sum(items)\n")
        assert sum(model.blocks) <= num_first + len("other = 1\n") + 3, "the first text went no further"
