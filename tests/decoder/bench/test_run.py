"""The bench over a scripted model: what it compares is compared, and a wrong text is found whoever wrote it."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from decoder import sampler, speculate
from decoder.accept import Accepted
from decoder.assemble import Assembly
from decoder.bench.command import bench
from decoder.bench.grade import grade
from decoder.bench.recording import Recording
from decoder.bench.run import Bench, Outcome, runs
from decoder.bench.tasks import OpenBuffer, Task, load_tasks
from decoder.drafters import Drafters
from decoder.sampler import Sampler
from decoder.wire.messages import Complete, Sampling
from drafting.corpus import Corpus
from drafting.gamma import MOST_GAMMA, GammaTuner
from drafting.interface import Array, Draft, Drafter
from drafting.prefix_cache import PrefixCache
from tests.decoder.local import PROBED, loaded
from tests.fakes import ScriptedModel, byte_tokenizer

REPLY = "compute(alpha, beta)\n"
TASKS = (
    Task("one", "python", "a.py", "x = ", "", "", (OpenBuffer("b.py", f"y = {REPLY}"),)),
    Task("two", "go", "a.go", "# numbers\nx = 1; x = ", "", "", (OpenBuffer("b.go", "x = compute(gamma)\n"),)),
    Task("three", "go", "c.go", "", "", "", ()),
)


class Careless(ScriptedModel):
    """Takes a wrong turn in forward passes of several rows only, as a faulty attention mask would."""

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        logits = super().extend(tokens, last=last)
        if len(logits) > 3:
            logits = logits.copy()
            logits[2] = np.roll(logits[2], 1)
        return logits


class Broken(ScriptedModel):
    """Computes nothing that means anything."""

    def row(self, tokens: Sequence[int]) -> Array:
        return super().row(tokens) * np.float32(np.nan)


class Counted(ScriptedModel):
    """Remembers how many tokens each forward pass took in whose logits were wanted."""

    def __init__(self, replies: dict[str, str]) -> None:
        super().__init__(replies)
        self.sizes: list[int] = []

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        if last != 0:
            self.sizes.append(len(tokens))
        return super().extend(tokens, last=last)


def assembly(model: ScriptedModel | None = None, *, context_length: int = 4096) -> Assembly:
    target = model or ScriptedModel({"x = ": REPLY}, context_length=context_length)
    tokenizer = byte_tokenizer()
    corpus = Corpus(tokenizer.encode, tokenizer.token_bytes)
    drafters = Drafters(target, corpus, spelling=tokenizer, cost=PROBED.cost)
    return Assembly(tokenizer, PrefixCache(target), corpus, drafters, loaded(target), "coupled")


def outcomes(parts: Assembly, **settings: int) -> list[Outcome]:
    options = {"max_tokens": 16} | settings
    runner = Bench(parts, runs(["plain", "lookup"], [None]), sampling=Sampling(), **options)
    return [each for group in runner.run(TASKS) for each in group]


def test_modes_write_the_same_text_and_lookup_does_so_in_fewer_steps() -> None:
    parts = assembly()
    plain, lookup = outcomes(parts)[:2]
    assert (plain.identity, lookup.identity) == (None, "identical")
    assert parts.tokenizer.decode(lookup.tokens) == REPLY[:16]
    assert plain.speculation.steps == 16
    assert lookup.speculation.steps < 8
    assert parts.corpus.num_tokens == 0, "no task drafts from the buffers of another"


def test_the_prompt_is_evaluated_before_the_clock_starts() -> None:
    model = Counted({"x = ": REPLY})
    outcomes(assembly(model))
    assert max(model.sizes) <= 1 + MOST_GAMMA < len(TASKS[1].prefix)


def test_no_mode_always_runs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    make = Drafters.make

    def noted(self: Drafters, request: Complete, sampler: Sampler, tuner: GammaTuner | None = None) -> Drafter:
        ran.append(request.draft)
        return make(self, request, sampler, tuner)

    monkeypatch.setattr(Drafters, "make", noted)
    outcomes(assembly())
    assert ran == ["none", "lookup", "lookup", "none", "none", "lookup"]


def test_a_task_without_a_prefix_is_no_obstacle() -> None:
    assert [each.identity for each in outcomes(assembly()) if each.task.id == "three"] == [None, "identical"]


@pytest.mark.trap(33)
def test_a_model_that_errs_in_blocks_is_found() -> None:
    verdicts = {each.task.id: each.identity for each in outcomes(assembly(Careless({"x = ": REPLY}))) if each.identity}
    assert verdicts["one"] == "diverged"


class Wavering(ScriptedModel):
    """Takes a wrong turn the first time it is asked for a row behind the prompt, and never again."""

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        logits = super().extend(tokens, last=last)
        if len(self.held) == len("x = ") and not self.wavered:
            self.wavered = True
            logits = np.roll(logits, 1, axis=1)
        return logits

    wavered = False


@pytest.mark.trap(33)
def test_on_an_exact_engine_texts_that_differ_are_never_a_near_tie() -> None:
    # the undrafted text was wrong; asked again, the model agreed with the drafted one, and the run passed
    parts = assembly(Wavering({"x = ": REPLY}))
    runner = Bench(parts, runs(["undrafted", "lookup"], [None]), max_tokens=16, sampling=Sampling())
    [[undrafted, lookup]] = runner.run(TASKS[:1])
    assert undrafted.tokens != lookup.tokens
    assert lookup.identity == "diverged"


@pytest.mark.parametrize(
    "accept",
    [
        lambda draft, choices: Accepted(len(draft.tokens), list(choices)[-1]),  # whatever was drafted
        lambda _draft, choices: Accepted(0, list(choices)[-1]),  # the bonus of a draft that fell
    ],
)
@pytest.mark.trap(33)
def test_a_wrong_acceptance_rule_is_found(
    monkeypatch: pytest.MonkeyPatch, accept: Callable[[Draft, Iterable[int]], Accepted]
) -> None:
    monkeypatch.setattr(sampler, "coupled", accept)
    verdicts = {each.task.id: each.identity for each in outcomes(assembly()) if each.identity}
    assert verdicts["two"] == "diverged"


def test_a_text_cut_short_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = speculate.speculate

    def short(*arguments: object, **options: object) -> object:
        steps = whole(*arguments, **options)  # type: ignore[arg-type]
        return (step for number, step in enumerate(steps) if number < 2)

    monkeypatch.setattr("decoder.bench.run.speculate", short)
    assert "diverged" in [each.identity for each in outcomes(assembly())]


def command(folder: Path, parts: Assembly, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    """`draftline bench` over TASKS with these parts."""
    row = {"lang": "python", "path": "a.py", "prefix": "x = 1; x = "}
    buffers = [{"path": "b.py", "text": f"x = {REPLY}"}]
    file = folder / "tasks.jsonl"
    file.write_text(json.dumps({**row, "id": "a:x:1", "open_buffers": buffers}), encoding="utf-8")
    monkeypatch.setenv("DRAFTLINE_CONFIG", str(folder / "config.toml"))
    (folder / "config.toml").touch()
    monkeypatch.setattr("decoder.bench.measure.assemble", lambda _config, _progress: parts)
    app = typer.Typer()
    app.command()(bench)
    return CliRunner().invoke(app, [str(file), *arguments])


def test_a_text_that_differs_ends_the_command_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = command(tmp_path, assembly(Careless({"x = ": REPLY})), monkeypatch)
    assert result.exit_code == 1
    assert "1 texts differ from decoding without drafts: a:x:1 (lookup)" in result.stderr
    assert "1 diverged" in result.stdout


def test_the_result_is_an_object_in_a_file_or_on_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for target in ("-", str(tmp_path / "result.json")):
        result = command(tmp_path, assembly(), monkeypatch, "--json", target, "--max-tokens", "8")
        assert result.exit_code == 0, result.output
        text = result.stdout if target == "-" else Path(target).read_text(encoding="utf-8")
        found = json.loads(text)
        assert found["identity"] == {"identical": 1, "tie_break": 0, "diverged": 0}
        assert found["one_row"] == {"identical": 1, "tie_break": 0, "diverged": 0}
        assert {"modes", "peers", "ratios", "identity", "machine", "versions"} <= found.keys()
        assert found["modes"]["lookup"]["by_language"]["python"]["tasks"] == 1


def test_a_replay_of_the_recorded_texts_takes_the_steps_that_the_run_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, parts = tmp_path / "record.jsonl.gz", assembly()
    result = command(tmp_path, parts, monkeypatch, "--gamma", "4", "--record", str(file), "--json", "-")
    assert result.exit_code == 0, result.output
    recording = Recording.read(file)
    assert (recording.header.mode, recording.header.cost) == ("undrafted", PROBED.cost)
    truths = recording.truths(load_tasks(tmp_path / "tasks.jsonl"), parts.tokenizer, "scripted")
    [curve] = grade(truths, parts.tokenizer, runs(["lookup"], [4]), {"measured": PROBED.cost})["curves"].values()
    ran = json.loads(result.stdout)["modes"]["lookup 4"]
    assert ran["tokens_per_step"] > 2
    assert {name: curve["modes"]["lookup 4"][name] for name in ("tokens_per_step", "acceptance")} == {
        name: ran[name] for name in ("tokens_per_step", "acceptance")
    }


def test_a_record_needs_a_mode_without_drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = command(tmp_path, assembly(), monkeypatch, "--modes", "lookup", "--record", str(tmp_path / "file"))
    assert (result.exit_code, "add undrafted to --modes" in result.stderr) == (2, True)


def test_a_draft_length_named_twice_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # its outcomes were counted twice, under one name
    result = command(tmp_path, assembly(), monkeypatch, "--gamma", "4,1,04")
    assert result.exit_code == 2
    assert "each draft length once" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "parts", "said"),
    [
        (("--json", "missing/result.json"), assembly(), "name a file in a folder that exists"),
        (("--record", "missing/record.jsonl"), assembly(), "--record missing/record.jsonl cannot be written"),
        ((), assembly(context_length=512), "bench needs a window of 712 tokens, here it is 512"),
        ((), assembly(Broken({})), "logits are not finite"),
        (("--modes", "plain,model"), assembly(), "needs a draft model"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], parts: Assembly, said: str
) -> None:
    # tracebacks, one of them after the whole run
    result = command(tmp_path, parts, monkeypatch, *arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert said in result.stderr
