"""`draftline complete` over a scripted model: every option reaches the answer."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from decoder.assemble import Assembly
from decoder.complete_command import complete, request_at
from decoder.drafters import Drafters
from decoder.engine import EngineError
from decoder.loading import Progress
from decoder.source_file import Place
from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS
from drafting.corpus import Corpus
from drafting.prefix_cache import PrefixCache
from tests.decoder.local import loaded
from tests.fakes import ScriptedModel, byte_tokenizer

REPLY = "compute(alpha, beta)"
Run = Callable[..., Result]


@pytest.fixture
def steps() -> list[str]:
    """What loading the model says of itself."""
    return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[str]) -> Run:
    """Completes behind `x = ` in a file of its own, with more arguments."""
    (tmp_path / "é 漢.py").write_text("x = \ny = 1\n", encoding="utf-8")
    (tmp_path / "open.py").write_text(f"z = {REPLY}\n", encoding="utf-8")
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(tmp_path / "config.toml"))
    target = ScriptedModel({"x = ": REPLY + "\n"})

    def assemble(_config: object, progress: Progress) -> Assembly:
        for step in steps:
            progress(step)
        tokenizer = byte_tokenizer()
        corpus = Corpus(tokenizer.encode)
        drafters = Drafters(target, corpus, spelling=tokenizer)
        return Assembly(tokenizer, PrefixCache(target), corpus, drafters, loaded(target), "coupled")

    monkeypatch.setattr("decoder.complete_command.assemble", assemble)
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(complete)
    return lambda *arguments: CliRunner().invoke(app, ["é 漢.py:1:5", *arguments])


def answer(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_text_alone_goes_to_stdout(run: Run) -> None:
    assert run().stdout == REPLY + "\n"


def test_what_takes_its_time_before_is_told_on_stderr(
    run: Run, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # it was silent for 20 s and more while weights were prepared
    steps += ["preparing my[red]model in int8: 0 %", "preparing my[red]model in int8: 100 %", "testing"]
    for arguments in ((), ("--json",)):
        assert run(*arguments).stderr.splitlines() == steps
    assert answer(run("--json"))["text"] == REPLY
    monkeypatch.setattr("decoder.complete_command.err", Console(stderr=True, force_terminal=True, width=80))
    shown = run("--json")
    assert answer(shown)["text"] == REPLY
    assert steps[-1] in shown.stderr
    assert shown.stderr.endswith("\x1b[?25h\r\x1b[1A\x1b[2K"), "the spinner has gone, the cursor is back"


def test_progress_in_a_log_is_a_line_a_quarter(run: Run, steps: list[str]) -> None:
    # a log had 21 lines for one preparation
    steps += [f"preparing a in int8: {done} %" for done in range(0, 101, 5)]
    steps += ["preparing b in int8: 97 %", "preparing b in int8: 100 %", "testing"]
    shown = [0, 25, 50, 75, 100]
    expected = [*(f"preparing a in int8: {done} %" for done in shown), *steps[-3:]]
    assert run().stderr.splitlines() == expected


def test_models_run_in_the_environment_that_a_decoder_would_have(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # beside other work a start on torch took 2:36 min instead of 0:34
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    run()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE", "what a person has set stays"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    run()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_an_open_file_is_drafted_from_unless_drafting_is_off(run: Run) -> None:
    opened = answer(run("--json", "--open", "open.py"))
    assert opened["speculation"]["by_source"]["lookup"]["accepted"] > 10
    assert answer(run("--json"))["speculation"]["accepted"] == 0
    for off in (("--draft", "none"), ("--gamma", "0")):
        assert answer(run("--json", "--open", "open.py", *off))["speculation"]["drafted"] == 0
    short = answer(run("--json", "--open", "open.py", "--gamma", "2"))["speculation"]
    assert opened["speculation"]["steps"] < short["steps"]
    assert short["gamma_mean"] <= 2


def test_no_more_tokens_than_allowed(run: Run) -> None:
    cut = answer(run("--json", "--max-tokens", "5"))
    assert (cut["tokens"]["output"], cut["finish"]) == (5, "length")
    assert REPLY.startswith(cut["text"])


def test_sampling_is_as_asked_for(run: Run) -> None:
    wild = ("--json", "--temperature", "100", "--max-tokens", "8")
    texts, again = ([answer(run(*wild, "--seed", str(seed)))["text"] for seed in range(12)] for _ in range(2))
    assert texts == again
    assert len(set(texts)) > 3, "bytes of chance are seldom a text to show, but now and then they are"
    assert REPLY.startswith(answer(run(*wild, "--top-p", "0"))["text"])


def test_why_there_is_nothing_is_told_in_a_sentence(run: Run, tmp_path: Path) -> None:
    # it was the code of the reason
    (tmp_path / "é 漢.py").write_text("    \n", encoding="utf-8")
    result = run()
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "There is nothing before the cursor to go on from: type a first word.\n"
    assert answer(run("--json"))["reason"] == "suppressed:nothing_before"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--temperature", "inf"), "temperature inf is not between"),
        (("--seed", "9" * 30), "is not between"),
        (("--draft", "model"), "set draft_model in config.toml"),
        (("--open", "missing.py"), "missing.py does not exist"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert isinstance(result.exception, SystemExit)
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_file_with_secrets_is_neither_completed_nor_read_as_context(run: Run, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TOKEN=abc\n", encoding="utf-8")
    refused = run("--open", ".env")
    assert refused.exit_code == 1
    assert ".env is not read: its name matches '.env', as of a file with secrets" in refused.stderr
    with pytest.raises(EngineError, match=r"\.env is not read"):
        request_at(Place(Path(".env"), 1, 1))


@pytest.mark.parametrize("option", ["--temperature", "--top-p"])
def test_what_is_no_number_is_wrong_usage(run: Run, option: str) -> None:
    assert run(option, "nan").exit_code == 2


def test_a_long_file_is_sent_as_far_as_an_editor_would(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("a line\n" * 20_000, encoding="utf-8")
    request = request_at(Place(path, 10_001, 1))
    assert (len(request.prefix), len(request.suffix), request.line) == (PREFIX_CHARACTERS, SUFFIX_CHARACTERS, 10_000)
