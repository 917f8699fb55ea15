"""A bench with peers measures our own cold prompt beside theirs."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from decoder.assemble import Assembly
from decoder.bench.measure import Protocol, first_token_seconds, measure
from decoder.bench.peers.field import Field
from decoder.bench.peers.names import choose_peers
from decoder.bench.peers.report import peers_table
from decoder.bench.run import runs
from decoder.bench.tasks import Task
from decoder.config import DecoderConfig
from decoder.drafters import Drafters
from decoder.wire.messages import Sampling
from drafting.corpus import Corpus
from drafting.interface import Array
from drafting.prefix_cache import PrefixCache, prefill
from tests.decoder.local import loaded
from tests.fakes import ScriptedModel, byte_tokenizer

WORKER = (sys.executable, str(Path(__file__).parent / "peers" / "fake_worker.py"))
TASKS = [Task("one", "python", "a.py", "x = ", "", "", ()), Task("two", "go", "a.go", "x = 1; x = ", "", "", ())]


class Counted(ScriptedModel):
    """Counts the tokens it evaluates."""

    evaluated = 0

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        self.evaluated += len(tokens)
        return super().extend(tokens, last=last)


def test_a_cold_prompt_is_evaluated_as_a_whole_though_it_was_cached() -> None:
    model = Counted({"x = ": "y\n"})
    target, prompt = PrefixCache(model), byte_tokenizer().encode("a = 1; x = ")
    for _ in prefill(target, prompt):
        pass
    assert first_token_seconds(target, prompt) > 0
    assert model.evaluated == 2 * len(prompt)
    assert list(target.tokens) == prompt


def test_every_task_has_our_cold_prompt_beside_the_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = ScriptedModel({"x = ": "compute()\n"}, context_length=4096), byte_tokenizer()
    corpus = Corpus(tokenizer.encode)
    parts = Assembly(
        tokenizer, PrefixCache(model), corpus, Drafters(model, corpus, spelling=tokenizer), loaded(model), "coupled"
    )
    monkeypatch.setattr("decoder.bench.measure.assemble", lambda _config, _told: parts)
    monkeypatch.setattr("decoder.bench.measure.model_folder", Path)
    monkeypatch.setattr("decoder.bench.measure.Field", partial(Field, command=WORKER))
    protocol = Protocol(tuple(runs(["plain"], [None])), tuple(choose_peers("llama.cpp-plain-fp16")), 4, Sampling())
    result = measure(DecoderConfig(), TASKS, protocol)
    assert [*result["cold_prompt"]["by_task"]] == ["one", "two"]
    assert all(times.keys() == {"ours", "llama.cpp-plain-fp16"} for times in result["cold_prompt"]["by_task"].values())
    assert peers_table(result).row_count == 2
