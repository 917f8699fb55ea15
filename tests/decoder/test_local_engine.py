import asyncio
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from decoder.drafters import Drafters
from decoder.engine import EngineError
from decoder.local_engine import PREFILL_CHUNK, LocalEngine
from decoder.wire import messages
from decoder.wire.messages import Answer, Complete, Sampling
from drafting.corpus import Corpus
from drafting.interface import Array, LanguageModel
from drafting.lines import split_lines
from drafting.prefix_cache import PrefixCache
from tests.decoder.serving import until
from tests.fakes import ScriptedModel, byte_tokenizer

TOKENIZER = byte_tokenizer()
REPLIES = {
    "x = ": "compute(a, b)\ny = 2\n",
    "def area(self):": "\n        return self.width * self.height\n\n    def name(self):\n",
    "s = '": "😀😀'\n",
    "last = ": "1",
    "quiet = ": "",
    "lines = ": "[\r\n    1,\r\n]",
    "f(": "a)",
}


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


@asynccontextmanager
async def engine(
    model: LanguageModel | None = None,
    *,
    small: LanguageModel | None = None,
    prompt_tokens: int = 512,
    buffer: str = "",
) -> AsyncIterator[LocalEngine]:
    target = model or ScriptedModel(REPLIES)
    corpus = Corpus(TOKENIZER.encode)
    corpus.open("2:other", split_lines(buffer))
    made = LocalEngine(PrefixCache(target), TOKENIZER, Drafters(target, corpus, small), prompt_tokens=prompt_tokens)
    try:
        yield made
    finally:
        await made.aclose()


def ask(prefix: str, suffix: str = "", *, id: int = 1, **changes: Any) -> Complete:
    return Complete(id, "1:x.py", "python", prefix, suffix, **changes)


async def test_an_answer_says_what_was_done() -> None:
    async with engine() as made:
        answer = await made.complete(ask("# a text\nx = ", draft="none"))
    assert (answer.text, answer.finish, answer.reason) == ("compute(a, b)", "stop", "")
    assert (answer.language, answer.model) == ("python", "scripted")
    assert answer.tokens.prompt == len("# a text\nx = ")
    assert answer.tokens.output == answer.speculation.steps >= len("compute(a, b)\n")
    times = answer.timings_ms
    assert times.total == pytest.approx(times.queue + times.prefill + times.decode, abs=0.05)


async def test_the_next_keystroke_evaluates_only_what_is_new() -> None:
    # the prompt is a tuple, the cache a list: nothing was found in common, and everything evaluated again
    text = "# " + "a" * 300 + "\nx = "
    model = ScriptedModel(REPLIES)
    async with engine(model) as made:
        assert (await made.complete(ask(text, draft="none"))).tokens.cached == 0
        model.blocks.clear()
        answer = await made.complete(ask(text + "c", id=2, draft="none"))
        assert answer.text == "ompute(a, b)"
        assert answer.tokens.cached >= len(text) - 1
        assert sum(model.blocks) <= len("ompute(a, b)\n") + 5
        edited = await made.complete(ask(text.replace("aaa\n", "aab\n"), id=3))
        assert len(text) - 20 <= edited.tokens.cached < len(text)


@pytest.mark.parametrize("draft", ["none", "lookup", "model", "auto"])
@pytest.mark.parametrize("gamma", [0, 1, 3, 16, None])
async def test_the_text_does_not_depend_on_how_it_was_drafted(draft: messages.Draft, gamma: int | None) -> None:
    buffer = "class A:\n    def area(self):\n        return self.width * other\n"
    small = ScriptedModel({"def area(self):": "\n        return self.length"})
    async with engine(small=small, buffer=buffer) as made:
        answer = await made.complete(ask("class B:\n    def area(self):", draft=draft, gamma=gamma))
    assert answer.text == "\n        return self.width * self.height"
    counts = answer.speculation
    assert answer.tokens.output == counts.steps + counts.accepted
    assert counts.drafted == sum(source.drafted for source in counts.by_source.values())
    if draft != "none" and gamma != 0:
        assert counts.accepted > 0


@pytest.mark.parametrize("max_tokens", range(2, 12))
async def test_exactly_as_many_tokens_as_allowed(max_tokens: int) -> None:
    async with engine(small=ScriptedModel(REPLIES)) as made:
        answer = await made.complete(ask("x = ", max_tokens=max_tokens, draft="model"))
    assert answer.tokens.output == max_tokens
    assert answer.text == "compute(a, b)"[: max_tokens - 1], "one of them is the space written anew"
    assert answer.finish == "length"


async def test_a_stop_in_the_step_that_uses_up_the_tokens_is_a_stop() -> None:
    text = "compute(a, b)\n"
    async with engine(small=ScriptedModel(REPLIES)) as made:
        answer = await made.complete(ask("x = ", max_tokens=len(text) + 1, draft="model", gamma=13))
    assert (answer.text, answer.finish) == ("compute(a, b)", "stop")
    assert answer.speculation.accepted > 0


@pytest.mark.parametrize("eos", [256, 257])
@pytest.mark.parametrize("draft", ["none", "model"])
async def test_each_end_of_text_ends_it_and_is_not_shown(eos: int, draft: messages.Draft) -> None:
    model, small = (ScriptedModel(REPLIES, eos=eos) for _ in range(2))
    async with engine(model, small=small) as made:
        answer = await made.complete(ask("last = ", draft=draft))
    assert (answer.text, answer.finish) == ("1", "stop")
    assert eos not in model.held, "nothing is left of it in the cache"


async def test_a_character_cut_in_half_is_not_shown() -> None:
    async with engine() as made:
        for max_tokens in range(2, 10):
            answer = await made.complete(ask("s = '", max_tokens=max_tokens))
            assert answer.text == "😀" * ((max_tokens - 1) // 4)


async def test_line_ends_are_the_editors_business() -> None:
    async with engine() as made:
        crlf = await made.complete(ask("a\r\nb\r\nx = ", "\r\ny = 2\r\n"))
        lf = await made.complete(ask("a\nb\nx = ", "\ny = 2\n", id=2))
        assert (crlf.text, crlf.tokens.prompt) == (lf.text, lf.tokens.prompt)
        assert (await made.complete(ask("lines = ", id=3, multiline="always"))).text == "[\n    1,\n]"


@pytest.mark.parametrize(
    ("prefix", "suffix", "reason"),
    [("quiet = ", "", "model_wrote_nothing"), ("f(", "a)", "nothing_left_after_trim"), ("", "", "model_wrote_nothing")],
)
async def test_an_empty_answer_has_a_reason(prefix: str, suffix: str, reason: str) -> None:
    async with engine() as made:
        answer = await made.complete(ask(prefix, suffix))
    assert (answer.text, answer.finish, answer.reason) == ("", "none", reason)


async def test_a_long_document_is_cut_to_the_budget_and_still_answered() -> None:
    async with engine(ScriptedModel(REPLIES), prompt_tokens=120) as made:
        answer = await made.complete(ask("line\n" * 1000 + "x = "))
    assert 60 <= answer.tokens.prompt <= 120
    assert answer.text == "compute(a, b)"


async def test_a_full_window_ends_the_text() -> None:
    async with engine(ScriptedModel(REPLIES, context_length=128), prompt_tokens=120) as made:
        answer = await made.complete(ask("a" * 115 + "\nx = "))
    assert answer.tokens.prompt == 120
    assert (answer.text, answer.finish) == ("compute("[: 128 - 120], "length")


async def test_what_cannot_be_done_is_said() -> None:
    model = ScriptedModel(REPLIES)
    async with engine(model) as made:
        with pytest.raises(EngineError, match="set draft_model"):
            await made.complete(ask("x = ", draft="model"))
        with pytest.raises(EngineError, match="top_p"):
            await made.complete(ask("x = ", sampling=Sampling(temperature=1.0, top_p=2.0)))


@pytest.mark.parametrize("prefix", ["x = ", "# " + "a" * (3 * PREFILL_CHUNK) + "\nx = "])
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
        assert (await made.complete(ask("x = ", id=2))).text == "compute(a, b)"


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


async def test_typing_fast_serves_the_last_request_and_at_most_one_step_of_the_others() -> None:
    model = GatedModel(REPLIES)
    model.seconds = 0.003
    async with engine(model) as made:
        text, longest = "x = comput", 0.0
        tasks: list[asyncio.Task[Answer]] = []
        for end in range(5, 10):
            for task in tasks:
                task.cancel()
            tasks.append(asyncio.create_task(made.complete(ask(text[:end], id=end, draft="none"))))
            for _ in range(10):
                began = time.perf_counter()
                await asyncio.sleep(0.001)
                longest = max(longest, time.perf_counter() - began)
        assert (await tasks[-1]).text == "compute(a, b)"[5:]
        assert all(task.cancelled() for task in tasks[:-1])
        assert model.begun <= 4 * 5 + len("te(a, b)\n") + 3
        assert longest < 0.1, "the event loop is never kept from reading edits"


async def test_requests_at_the_same_time_each_equal_their_solo_run() -> None:
    requests = [
        ask("x = ", id=0, gamma=0),
        ask("def area(self):", id=1, gamma=3),
        ask("s = '", id=2),
        ask("last = ", id=3, gamma=8),
    ]
    async with engine(small=ScriptedModel(REPLIES)) as made:
        solo = [(await made.complete(request)).text for request in requests]
        together = await asyncio.gather(*map(made.complete, requests))
    assert [answer.text for answer in together] == solo
    assert [answer.id for answer in together] == [0, 1, 2, 3]


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
