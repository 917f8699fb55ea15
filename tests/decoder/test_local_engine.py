"""What an answer holds, and that it depends on the request alone (see test_local_engine_faults.py)."""

import asyncio
import random

import pytest

from decoder.engine import EngineError
from decoder.wire import messages
from decoder.wire.messages import Sampling
from tests.decoder.local import REPLIES, ask, engine
from tests.fakes import NumpyModel, ScriptedModel, byte_tokenizer


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
@pytest.mark.trap(24)
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


@pytest.mark.trap(16)
async def test_a_stop_in_the_step_that_uses_up_the_tokens_is_a_stop() -> None:
    text = "compute(a, b)\n"
    async with engine(small=ScriptedModel(REPLIES)) as made:
        answer = await made.complete(ask("x = ", max_tokens=len(text) + 1, draft="model", gamma=13))
    assert (answer.text, answer.finish) == ("compute(a, b)", "stop")
    assert answer.speculation.accepted > 0


@pytest.mark.parametrize("eos", [256, 257])
@pytest.mark.parametrize("draft", ["none", "model"])
@pytest.mark.trap(14)
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
    [
        ("quiet = ", "", "model_wrote_nothing"),
        ("f(", "a)", "nothing_left_after_trim"),
        ("", "", "suppressed:nothing_before"),
    ],
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


@pytest.mark.trap(23)
async def test_what_cannot_be_done_is_said() -> None:
    model = ScriptedModel(REPLIES)
    async with engine(model) as made:
        with pytest.raises(EngineError, match="set draft_model"):
            await made.complete(ask("x = ", draft="model"))
        for nonsense in (ask("x = ", max_tokens=0), ask("x = ", max_tokens=-3), ask("x = ", gamma=-1)):
            with pytest.raises(EngineError, match="is less than"):
                await made.complete(nonsense)
        with pytest.raises(EngineError, match="top_p"):
            await made.complete(ask("x = ", sampling=Sampling(temperature=1.0, top_p=2.0)))


@pytest.mark.trap(25)
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


async def test_what_was_asked_before_never_changes_an_answer() -> None:
    order = random.Random(2)

    def model() -> NumpyModel:
        written = NumpyModel(3, vocabulary=258, context_length=1024)
        written.vocabulary = byte_tokenizer().vocabulary
        return written

    documents = {"x": "def f(", "y": "class A:"}
    async with engine(model(), small=model()) as used:
        for number in range(25):
            name = order.choice("xy")
            kept = order.choice([len(documents[name])] * 3 + [order.randrange(len(documents[name]) + 1)])
            documents[name] = documents[name][:kept] + "".join(order.choices("ab (\n", k=order.randrange(1, 4)))
            draft = order.choice(["none", "lookup", "model", "auto"])
            request = ask(documents[name], id=number, max_tokens=12, draft=draft, gamma=order.choice([None, 0, 2]))
            answer = await used.complete(request)
            async with engine(model(), small=model()) as fresh:
                assert answer.text == (await fresh.complete(request)).text


async def test_with_nothing_before_the_cursor_nothing_is_made_up() -> None:
    async with engine(ScriptedModel(REPLIES)) as made:
        for prefix in ("", "\n", "  \n\t"):
            answer = await made.complete(ask(prefix))
            assert (answer.text, answer.finish, answer.reason) == ("", "none", "suppressed:nothing_before")
