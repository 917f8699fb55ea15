"""Whatever is asked, typed, cancelled or broken in between, each answer is the target's own text."""

import asyncio
import contextlib
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from decoder.healing import TokenHealing
from decoder.local_engine import Defaults
from decoder.prompt import PromptBuilder
from decoder.prompt_families import family_named
from decoder.stopping import Stopping
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Answer, Complete, Draft, Sampling, Shown, Trigger
from decoder.written import Written
from drafting.interface import Array
from drafting.syntax import Syntax
from tests.decoder.local import ask, engine
from tests.decoder.small_tokenizer import small_tokenizer
from tests.fakes import NumpyModel

MERGES = [("a", "b"), ("b", "a"), ("ab", "a"), ("Ġ", "a"), ("Ġ", "Ġ"), ("ĠĠ", "ĠĠ"), ("a", "("), (")", "Ċ"), ("c", "c")]
SIGNS = "aabbcc  ()=:\n"
MOST_TOKENS = 100
TRIGGERS: list[Trigger] = ["automatic", "automatic", "automatic", "automatic", "warm_up", "invoked"]
DRAFTS: list[Draft] = ["auto", "auto", "auto", "auto", "none", "model", "lookup"]
DOCUMENTS = ("1:a.py", "1:b.py", "1:c.py")


class WholeText(NumpyModel):
    """Each token depends on the whole text before it, so that a wrong token in the cache shows sooner or later."""

    def __init__(self, tokenizer: Tokenizer, seed: int, context_length: int) -> None:
        super().__init__(seed, vocabulary=tokenizer.vocabulary.size, context_length=context_length)
        self.vocabulary = tokenizer.vocabulary
        known = [tokenizer.token_bytes(token) for token in range(tokenizer.vocabulary.size)]
        likely = [token for token, text in enumerate(known) if set(text.decode("latin-1")) <= set(SIGNS)]
        self._bias = np.full(tokenizer.vocabulary.size, -50.0, dtype=np.float32)
        self._bias[likely] = 0.0
        self._bias[min(tokenizer.eos_ids)] = -1.0

    def row(self, tokens: Sequence[int]) -> Array:
        key = 0
        for token in tokens:
            key = (key * 131 + token + 1) % 997
        return self._table[key] + self._bias


class Plain:
    """Decoding a token at a time, each from the whole text: what the engine has to give."""

    def __init__(self, model: WholeText, tokenizer: Tokenizer, prompts: PromptBuilder) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._prompts = prompts
        self._healing = TokenHealing(tokenizer)
        self._grammar = Syntax().grammar("python")

    @cache  # noqa: B019 - lives as long as its test
    def texts(self, base: Complete) -> tuple[list[str], bool]:
        """After no token, one, two, ..., and whether the model ended it; what was typed before is no part of them."""
        prompt = self._prompts.build(base)
        context, unspelt = list(prompt.tokens), prompt.typed
        while len(context) < min(len(prompt.tokens) + MOST_TOKENS, self._model.context_length):
            row = self._model.row(context)
            allowed = self._healing.agreeing(unspelt) if unspelt else np.arange(len(row))
            token = int(allowed[np.argmax(row[allowed])])
            context.append(token)
            unspelt = unspelt[len(self._tokenizer.token_bytes(token)) :]
            if token in self._tokenizer.eos_ids:
                break
        tokens = context[len(prompt.tokens) :]
        texts = [self._text(tokens[:end], len(prompt.typed)) for end in range(len(tokens) + 1)]
        return texts, tokens[-1] in self._tokenizer.eos_ids

    def answer(self, request: Complete, base: Complete) -> Shown | None:
        """What is shown where the run that began with `base` is followed; None where it cannot be."""
        texts, ended = self.texts(replace(base, id=0))
        written = Written.after(base, reads_suffix=self._prompts.family.reads_suffix)
        written.text = texts[-1]
        offset = written.offset(request)
        if offset is None:
            return None
        before = sum(len(text) < offset for text in texts[1:])
        before += offset > 0 and len(texts[before + 1]) == offset
        stopping = Stopping.of(request, self._grammar)
        for text in texts[: before + request.max_tokens + 1]:
            if (end := stopping.end(text[offset:])) is not None:
                return stopping.trim(text[offset:][:end])
        rest = texts[: before + request.max_tokens + 1][-1][offset:]
        is_cut = not ended or len(texts) > before + request.max_tokens + 1
        whole = stopping.so_far(rest) if is_cut and stopping.block else 0
        return stopping.trim(rest[: whole or len(rest)])

    def _text(self, tokens: Sequence[int], num_typed: int) -> str:
        return self._tokenizer.decode_complete([t for t in tokens if t not in self._tokenizer.eos_ids], skip=num_typed)


class Typist:
    """Does anything in any order, and checks each answer."""

    def __init__(self, plain: Plain, seed: int) -> None:
        self._plain = plain
        self._random = random.Random(seed)
        self._texts = {name: (f"def {name[2]}(ab):\n    ", "\n") for name in DOCUMENTS}
        self._bases: dict[str, list[Complete]] = {name: [] for name in DOCUMENTS}
        self._latest: dict[str, str] = dict.fromkeys(DOCUMENTS, "")
        self._number = 0

    def next(self) -> Complete:
        """The next request: after typing along, going another way, taking back, or elsewhere."""
        name = self._random.choice(DOCUMENTS)
        prefix, suffix = self._texts[name]
        latest = self._latest[name]
        match self._random.randrange(8):
            case 0:
                prefix += "".join(self._random.choices(SIGNS, k=self._random.randrange(1, 4)))
            case 1:
                prefix = prefix[: -self._random.randrange(1, 6)]
            case 2:
                suffix = self._random.choice(["\n", ")\n", "\nab = 1\n", "", " ab\n"])
            case 3:
                prefix = f"def {name[2]}(ab):\n" + self._random.choice(["    ", "", "    a", "\n"])
            case 4:
                prefix += latest + "\n"
            case _:
                prefix += latest[: self._random.randrange(len(latest) + 1)]
        self._texts[name] = (prefix[:160], suffix)
        self._number += 1
        return replace(
            ask(prefix[:160], suffix, id=self._number),
            document=name,
            max_tokens=self._random.choice([1, 5, 20, 20]),
            multiline=self._random.choice(["auto", "always", "never"]),
            trigger=self._random.choice(TRIGGERS),
            candidates=self._random.choice([1] * 6 + [3]),
            draft=self._random.choice(DRAFTS),
            gamma=self._random.choice([None] * 5 + [0, 2]),
            sampling=Sampling(),
        )

    def begun(self, request: Complete) -> None:
        """What the answer to a request may go on from later, also where it is never given."""
        self._bases[request.document].append(request)

    def check(self, request: Complete, answer: Answer) -> None:
        assert answer.id == request.id
        if request.trigger == "warm_up":
            assert (answer.text, answer.reason) == ("", "warmed_up")
            return
        assert bool(answer.reason) != bool(answer.text)
        if not request.prefix.strip():
            assert answer.reason == "suppressed:nothing_before"
            return
        possible = [self._plain.answer(request, base) for base in self._bases[request.document]]
        if request.candidates == 1:
            assert Shown(answer.text, answer.replaces) in possible
        self._latest[request.document] = answer.text


@pytest.mark.parametrize("family", ["prefix", "qwen2.5-coder", "codellama"])
@pytest.mark.parametrize("seed", range(4))
async def test_every_answer_is_the_text_of_plain_decoding(family: str, seed: int) -> None:
    tokenizer = small_tokenizer(*family_named(family).markers, merges=MERGES)
    context_length = (1000, 190)[seed % 2]  # the shorter window fills up
    target, small = (WholeText(tokenizer, seed, context_length) for seed in (seed, seed + seed % 3))
    prompts = PromptBuilder(tokenizer, budget=min(512, context_length - 1), family=family_named(family))
    typist = Typist(Plain(target, tokenizer, prompts), seed)
    chance = random.Random(seed)
    defaults = Defaults(background_tokens=chance.choice([0, 6, 30]))
    async with (
        asyncio.timeout(60),
        engine(target, small=small, tokenizer=tokenizer, family=family, defaults=defaults) as made,
    ):
        for _ in range(40):
            requests = [typist.next() for _ in range(chance.choice([1, 1, 1, 2, 3]))]
            tasks = [asyncio.ensure_future(made.complete(request)) for request in requests]
            for request in requests:
                typist.begun(request)
            fault = chance.random() < 0.1
            if fault:
                target.fault = RuntimeError("the device has gone")
            for task in tasks:
                if chance.random() < 0.3:
                    await asyncio.sleep(chance.choice([0, 0, 0.001, 0.003]))
                    task.cancel()
            for request, task in zip(requests, tasks, strict=True):
                with contextlib.suppress(asyncio.CancelledError, *([RuntimeError] if fault else [])):
                    typist.check(request, await task)
            if chance.random() < 0.3:
                await asyncio.sleep(0.002)
            target.fault = None
