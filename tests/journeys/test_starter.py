"""The starter model from the command line and through the engine, as a user meets it."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from decoder.assemble import Assembly, assemble
from decoder.bench.run import Bench, runs
from decoder.bench.tasks import load_tasks, spread
from decoder.complete_command import request_at
from decoder.config import DecoderConfig
from decoder.local_engine import LocalEngine
from decoder.source_file import Place
from decoder.wire.messages import Answer, Complete, Sampling

pytestmark = pytest.mark.starter

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "benchmarks" / "samples" / "shapes.py"
CONFIG = DecoderConfig(device="cpu")


@pytest.fixture(scope="module")
def assembly(starter_folder: Path) -> Assembly:
    assert starter_folder.is_dir()
    return assemble(CONFIG)


@pytest.fixture
def engine(assembly: Assembly) -> Iterator[LocalEngine]:
    engine = assembly.engine(CONFIG)
    yield engine
    asyncio.run(engine.aclose())


def ask(engine: LocalEngine, request: Complete) -> Answer:
    return asyncio.run(engine.complete(request))


def long_request() -> Complete:
    """A cursor at the end of a document of about 600 tokens."""
    text = SAMPLE.read_text(encoding="utf-8") * 2
    return Complete(id=1, document="a.py", language="python", prefix=text + "def smallest(", suffix="", max_tokens=8)


def test_the_second_keystroke_in_a_long_document_evaluates_few_prompt_tokens(engine: LocalEngine) -> None:
    request = long_request()
    first = ask(engine, request)
    assert first.tokens.prompt >= 600
    for typed in ("f", "fi", "figures: list["):
        answer = ask(engine, replace(request, prefix=request.prefix + typed))
        assert answer.tokens.prompt - answer.tokens.cached <= 16
        assert answer.tokens.cached >= 590


def test_every_way_of_drafting_writes_the_same_text(engine: LocalEngine) -> None:
    request = replace(request_at(Place(SAMPLE, 42, 9)), suffix="", max_tokens=40)
    plain = ask(engine, replace(request, draft="none"))
    assert plain.text.strip()
    for gamma in (1, 3, 8, 16):
        drafted = ask(engine, replace(request, draft="lookup", gamma=gamma))
        assert drafted.text == plain.text
        assert drafted.speculation.steps <= plain.speculation.steps
        assert drafted.speculation.accepted > 0


def test_sampling_repeats_with_its_seed_and_differs_without(engine: LocalEngine) -> None:
    request = replace(request_at(Place(SAMPLE, 42, 9)), suffix="", max_tokens=24, multiline="always")
    texts = [
        ask(engine, replace(request, sampling=Sampling(temperature=1.0, top_p=0.95, seed=seed))).text
        for seed in (1, 1, 2, 3)
    ]
    assert texts[0] == texts[1]
    assert len(set(texts)) >= 2


def test_an_indentation_is_continued_without_a_stray_space(engine: LocalEngine) -> None:
    answer = ask(engine, replace(request_at(Place(SAMPLE, 42, 9)), suffix=""))
    assert answer.text
    assert not answer.text.startswith(" ")


def test_a_document_that_was_left_is_not_read_again(engine: LocalEngine) -> None:
    first = long_request()
    other = replace(first, document="b.py", prefix="import os\n\n" + first.prefix.replace("width", "depth"))
    ask(engine, first)
    assert ask(engine, other).tokens.cached < 32
    again = ask(engine, first)
    assert again.tokens.cached > again.tokens.prompt - 64


def test_a_seed_has_one_text_whatever_drafts(engine: LocalEngine) -> None:
    sampling = Sampling(temperature=0.8, top_p=0.95, seed=11)
    request = replace(long_request(), sampling=sampling, multiline="always", max_tokens=24)
    undrafted = ask(engine, replace(request, draft="none"))
    drafted = [ask(engine, replace(request, draft="lookup", gamma=gamma)) for gamma in (1, 4, 15)]
    assert {each.text for each in drafted} == {undrafted.text} != {""}
    assert sum(each.speculation.accepted for each in drafted) > 0


@pytest.mark.tasks
def test_speculative_text_is_undrafted_text_on_real_tasks(assembly: Assembly, tasks_folder: Path) -> None:
    bench = Bench(assembly, runs(["undrafted", "lookup"], [None]), max_tokens=16, sampling=Sampling())
    outcomes = [each for group in bench.run(spread(load_tasks(tasks_folder), 6)) for each in group]
    verdicts = [each.identity for each in outcomes if each.mode == "lookup"]
    assert verdicts == ["identical"] * 6


def draftline(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "lsp_server", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_command_line_prints_one_json_object_with_the_promised_fields(starter_folder: Path) -> None:
    assert starter_folder.is_dir()
    done = draftline("complete", f"{SAMPLE}:42:9", "--json", "--open", str(SAMPLE.with_name("test_shapes.py")))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert set(answer) == {"text", "language", "model", "finish", "reason", "timings_ms", "tokens", "speculation"}
    assert answer["model"] == "smollm2-135m"
    assert answer["language"] == "python"
    assert set(answer["timings_ms"]) == {"queue", "prefill", "decode", "total"}
    assert set(answer["tokens"]) == {"prompt", "cached", "output"}
    assert set(answer["speculation"]) == {"steps", "drafted", "accepted", "by_source", "gamma_mean"}


def test_the_demo_shows_completions_in_three_languages_that_are_plain_decoding(starter_folder: Path) -> None:
    assert starter_folder.is_dir()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.demo"], capture_output=True, text=True, timeout=400, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 of 7 identical" in done.stdout.replace("\n", " ")
    for name in ("shapes.py", "queue.ts", "ring.go"):
        assert name in done.stdout


NO_NETWORK = """
import socket
def refuse(*arguments, **options):
    raise AssertionError("tried to use the network")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def test_a_pulled_model_completes_without_any_network(starter_folder: Path, tmp_path: Path) -> None:
    assert starter_folder.is_dir()
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "lsp_server", "complete", f"{SAMPLE}:42:9", "--max-tokens", "4"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
