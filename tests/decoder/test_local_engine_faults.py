"""Cancellation, and models that fail: what is under way ends within a step, and the next request finds all in order."""

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from decoder.drafters import Drafters
from decoder.engine import EngineError
from decoder.governor import Governor
from decoder.learned import Learned
from decoder.speculate import Step
from decoder.wire.messages import Answer, Draft
from drafting.interface import Array
from tests.decoder.local import REPLIES, ask, engine
from tests.decoder.serving import until
from tests.fakes import ScriptedModel


class GatedModel(ScriptedModel):
    """Stands still before every call once `open` is cleared; counts the calls it has begun."""

    def __init__(self, replies: Mapping[str, str]) -> None:
        super().__init__(replies)
        self.open = threading.Event()
        self.open.set()
        self.begun = 0
        self.seconds = 0.0

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        self.begun += 1
        assert self.open.wait(10)
        time.sleep(self.seconds)
        return super().extend(tokens, last=last)


@pytest.mark.parametrize("prefix", ["x = ", "# " + "a" * 768 + "\nx = "])
async def test_cancelling_costs_at_most_the_step_under_way(prefix: str) -> None:
    model = GatedModel(REPLIES)
    async with engine(model, prompt_tokens=2000) as made:
        model.open.clear()
        task = asyncio.create_task(made.complete(ask(prefix)))
        await until(lambda: model.begun == 1)
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done(), "it ends when the engine is ready for another request"
        model.open.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.begun == 1
        assert (await made.complete(ask(prefix, id=2))).text == "compute(a, b)"
        assert max(model.blocks) <= model.max_rows


@pytest.mark.parametrize("draft", ["model", "auto"])
async def test_cancelling_stops_the_draft_models_own_prompt_within_one_pass(draft: Draft) -> None:
    # its first context was one piece, which nobody could stop
    small = GatedModel(REPLIES)
    async with engine(small=small, prompt_tokens=2000) as made:
        small.open.clear()
        task = asyncio.create_task(made.complete(ask("# " + "a" * 768 + "\nx = ", draft=draft)))
        await until(lambda: small.begun == 1)
        task.cancel()
        small.open.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert small.blocks == [small.max_rows]
        assert (await made.complete(ask("x = ", id=2, draft=draft))).text == "compute(a, b)"


async def test_a_request_cancelled_in_the_queue_is_never_begun_and_waits_for_nobody() -> None:
    model = GatedModel(REPLIES)
    async with engine(model) as made:
        model.open.clear()
        first = asyncio.create_task(made.complete(ask("x = ")))
        await until(lambda: model.begun == 1)
        second = asyncio.create_task(made.complete(ask("last = ", id=2)))
        await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(1):
                await second
        model.open.set()
        assert (await first).text == "compute(a, b)"


async def test_the_governor_counts_who_waits_and_not_who_left() -> None:
    model, governor = GatedModel(REPLIES), Governor()
    async with engine(model, governor=governor) as made:
        model.open.clear()
        first = asyncio.create_task(made.complete(ask("x = ")))
        await until(lambda: model.begun == 1)
        others = [asyncio.create_task(made.complete(ask("last = ", id=id))) for id in (2, 3)]
        await until(lambda: governor.load(time.monotonic()).waiting == 2)
        assert not governor.permit(time.monotonic()).model
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        assert governor.load(time.monotonic()).waiting == 0
        assert governor.permit(time.monotonic()).model
        first.cancel()
        model.open.set()
        await asyncio.gather(first, return_exceptions=True)
        assert governor.load(time.monotonic()).service == 0.0  # who was given up says nothing of the load


async def test_every_pass_tells_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[Step] = []
    monkeypatch.setattr(Drafters, "learn", lambda _self, step: steps.append(step))
    async with engine() as made:
        answer = await made.complete(ask("x = ", draft="none"))
    assert len(steps) == answer.speculation.steps
    assert sum(step.milliseconds > 0 for step in steps) >= len(steps) - 1  # a healed token is no pass of its own kind


async def test_what_was_learned_is_kept_when_the_engine_closes(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "gamma.json")
    async with engine(learned=learned, buffer="y = compute(a, c)\n") as made:
        await made.complete(ask("z = compute(a, b)\nx = ", draft="syntax"))
    assert learned.models() == ["scripted"]
    assert learned.survival("scripted").state()


async def test_typing_fast_serves_the_last_request_and_at_most_one_step_of_the_others() -> None:
    model = GatedModel(REPLIES)
    model.seconds = 0.02
    async with engine(model) as made:
        text = "x = comput"
        tasks: list[asyncio.Task[Answer]] = []
        for end in range(5, 10):
            for task in tasks:
                task.cancel()
            tasks.append(asyncio.create_task(made.complete(ask(text[:end], id=end, draft="none"))))
            await asyncio.sleep(0.01)
        assert (await tasks[-1]).text == "compute(a, b)"[5:]
        assert all(task.cancelled() for task in tasks[:-1])
        assert model.begun <= 4 * 3 + len("te(a, b)\n") + 3


class PoisonedModel(ScriptedModel):
    """While `poisonous`, what it evaluates is NaN, in the cache too: all that builds upon it is NaN as well."""

    def __init__(self, replies: Mapping[str, str]) -> None:
        super().__init__(replies)
        self.poisonous = False
        self._poisoned: list[bool] = []

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        self._poisoned += [self.poisonous] * len(tokens)
        rows = super().extend(tokens, last=last)
        return rows * np.float32("nan") if any(self._poisoned) else rows

    def rewind(self, length: int) -> None:
        super().rewind(length)
        del self._poisoned[length:]


@pytest.mark.trap(28)
async def test_logits_without_meaning_are_an_error_once_not_for_ever() -> None:
    # the keys and values that led to them stayed in the cache, and every later request was built upon them
    model = PoisonedModel(REPLIES)
    async with engine(model) as made:
        model.poisonous = True
        with pytest.raises(EngineError, match=r"scripted: .*not finite.*config\.toml"):
            await made.complete(ask("x = "))
        model.poisonous = False
        assert (await made.complete(ask("x = ", id=2))).text == "compute(a, b)"


async def test_a_draft_model_without_meaning_is_an_error_once_not_for_ever() -> None:
    small = PoisonedModel(REPLIES)
    async with engine(small=small) as made:
        small.poisonous = True
        with pytest.raises(EngineError, match="not finite"):
            await made.complete(ask("x = ", draft="model"))
        small.poisonous = False
        assert (await made.complete(ask("x = ", id=2, draft="model"))).text == "compute(a, b)"


async def test_a_model_that_fails_once_works_the_next_time() -> None:
    model = ScriptedModel(REPLIES)
    async with engine(model) as made:
        model.fault = MemoryError("no memory")
        with pytest.raises(MemoryError):
            await made.complete(ask("x = "))
        assert (await made.complete(ask("x = ", id=2))).text == "compute(a, b)"


async def test_closing_cancels_what_is_under_way() -> None:
    # it waited for the whole text
    model = GatedModel(REPLIES)
    async with engine(model) as made:
        model.open.clear()
        task = asyncio.create_task(made.complete(ask("x = ", draft="none")))
        await until(lambda: model.begun == 1)
        closing = asyncio.create_task(made.aclose())
        await asyncio.sleep(0.02)
        model.open.set()
        await closing
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.begun <= 2
