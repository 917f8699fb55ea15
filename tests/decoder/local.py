"""A `LocalEngine` over a scripted model."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from decoder.accept import AcceptanceRule
from decoder.cost import PassCost
from decoder.drafters import Drafters
from decoder.exactness import Exactness
from decoder.governor import Governor
from decoder.learned import Learned
from decoder.loading import Loaded, Place
from decoder.local_engine import Defaults, LocalEngine
from decoder.prompt import PromptBuilder
from decoder.prompt_families import family_named
from decoder.remembered import Probed
from decoder.telemetry import OnUnanswered, nobody_told
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import Complete
from decoder.writer import Writer
from drafting.corpus import Corpus
from drafting.interface import LanguageModel
from drafting.lines import split_lines
from drafting.prefix_cache import PrefixCache
from tests.fakes import ScriptedModel, byte_tokenizer

TOKENIZER = byte_tokenizer()
PROBED = Probed(Exactness("bitwise", 1, 256), PassCost((1, 16), (20.0, 21.0)))
REPLIES = {
    "x = ": "compute(a, b)\ny = 2\n",
    "def area(self):": "\n        return self.width * self.height\n\n    def name(self):\n",
    "s = '": "😀😀'\n",
    "last = ": "1",
    "quiet = ": "",
    "lines = ": "[\r\n    1,\r\n]",
    "f(": "a)",
}


@asynccontextmanager
async def engine(
    model: LanguageModel | None = None,
    *,
    small: LanguageModel | None = None,
    prompt_tokens: int = 512,
    buffer: str = "",
    governor: Governor | None = None,
    learned: Learned | None = None,
    defaults: Defaults = Defaults(),
    saves_power: Callable[[], bool] = lambda: False,
    tokenizer: Tokenizer = TOKENIZER,
    family: str = "prefix",
    rule: AcceptanceRule = "coupled",
    on_unanswered: OnUnanswered = nobody_told,
) -> AsyncIterator[LocalEngine]:
    target = model or ScriptedModel(REPLIES)
    corpus = Corpus(tokenizer.encode, tokenizer.token_bytes)
    corpus.open("2:other", split_lines(buffer))
    load = governor or Governor()
    drafters = Drafters(target, corpus, small, spelling=tokenizer, permit=lambda: load.permit(time.monotonic()))
    budget = min(prompt_tokens, target.context_length - 1)
    prompts = PromptBuilder(tokenizer, budget=budget, family=family_named(family))
    made = LocalEngine(
        Writer(PrefixCache(target), tokenizer, drafters, prompts, rule=rule, on_unanswered=on_unanswered),
        drafters,
        model=target.name,
        defaults=defaults,
        governor=load,
        learned=learned,
        saves_power=saves_power,
    )
    try:
        yield made
    finally:
        await made.aclose()


def loaded(model: LanguageModel) -> Loaded:
    """As if it had been loaded on the reference engine, and found exact."""
    return Loaded(model, Place("torch", "cpu", "float32"), PROBED, seconds=0.0)


def ask(prefix: str, suffix: str = "", *, id: int = 1, **changes: Any) -> Complete:
    return Complete(id, "1:x.py", "python", prefix, suffix, **changes)
