"""`draftline bench`: are the texts the same, and how much faster do they come?"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from decoder.assemble import assemble
from decoder.bench.report import report, table
from decoder.bench.run import MODES, PROMPT_TOKENS, Bench, Run, runs
from decoder.bench.tasks import Task, load_tasks, spread
from decoder.complete_command import gamma_named
from decoder.config import DecoderConfig, from_values
from decoder.engine import EngineError
from decoder.sampling import NonFiniteLogitsError
from decoder.terminal import err, fail, out, plain_errors
from decoder.wire.messages import Sampling


def bench(
    tasks: Annotated[
        Path, typer.Argument(help="A folder NAME with NAME.jsonl.gz and NAME.buffers.jsonl.gz, or a JSON Lines file.")
    ],
    limit: Annotated[int, typer.Option(min=1, help="So many tasks, spread over the languages.")] = 1_000_000,
    modes: Annotated[
        str, typer.Option(help=f"Some of {', '.join(MODES)}, separated by commas.")
    ] = "plain,undrafted,lookup",
    peers: Annotated[str, typer.Option(help="Other engines to compare with (none in this version).")] = "",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result to a file, - for stdout.")] = None,
    gamma: Annotated[str, typer.Option(help="Draft tokens a step: numbers or auto, separated by commas.")] = "auto",
    max_tokens: Annotated[int, typer.Option(min=1, max=1024, help="New tokens a task.")] = 48,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.")] = 0.0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0)] = 1.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    dtype: Annotated[str, typer.Option(help="Precision of the weights, instead of config.toml's.")] = "",
    engine: Annotated[str, typer.Option(help="openvino or torch, instead of config.toml's.")] = "",
    acceptance: Annotated[str, typer.Option(help="coupled or rejection, instead of config.toml's.")] = "",
) -> None:
    """Plain against speculative decoding on the same tasks, with every text compared.

    Exit code 1 where a text differs from that of decoding without drafts (by more than a near-tie, on an engine that
    is not bitwise exact).
    """
    if peers:
        fail(f"--peers {peers!r}: no peers can be measured in this version", code=2)
    names = _modes(modes)
    wanted = runs(names, [gamma_named(part.strip()) for part in gamma.split(",")])
    with plain_errors():
        config = _config({"dtype": dtype, "engine": engine, "acceptance": acceptance})
        chosen = spread(load_tasks(tasks), limit)
        _check_writable(json_file)
        runner_settings = {"modes": names, "tasks": len(chosen), "gamma": gamma, "max_tokens": max_tokens}
        result = _run(config, chosen, wanted, max_tokens, Sampling(temperature, top_p=top_p, seed=seed))
    result["settings"] |= runner_settings
    _print(result, json_file)
    if result["identity"]["diverged"]:
        named = ", ".join(result["differing"][:5])
        fail(f"{result['identity']['diverged']} texts differ from decoding without drafts: {named}")


def _run(
    config: DecoderConfig, tasks: list[Task], wanted: list[Run], max_tokens: int, sampling: Sampling
) -> dict[str, Any]:
    assembly = assemble(config, lambda text: err.print(text, markup=False))
    _check_window(assembly.target.model.context_length, max_tokens)
    for run in wanted:
        assembly.drafters.check(MODES[run.mode])
    runner = Bench(assembly, wanted, max_tokens=max_tokens, sampling=sampling)
    try:
        for _ in runner.run(tasks[:1]):  # the first forwards allocate and warm up
            pass
        outcomes = []
        with Progress(console=err, transient=True) as progress:
            bar = progress.add_task("bench", total=len(tasks))
            for done, group in enumerate(runner.run(tasks), start=1):
                outcomes += group
                progress.advance(bar)
                if not err.is_terminal and done % max(1, len(tasks) // 12) == 0:
                    err.print(f"{done} of {len(tasks)} tasks")
    except NonFiniteLogitsError as error:
        raise EngineError(f"{config.model}: {error}") from error
    settings = {
        "model": config.model,
        "engine": assembly.loaded.place.engine,
        "dtype": assembly.dtype,
        "exact": str(assembly.loaded.exactness),
        "acceptance": assembly.rule,
        "device": assembly.device,
        "sampling": dataclasses.asdict(sampling),
    }
    return report(outcomes, settings=settings)


def _print(result: dict[str, Any], json_file: Path | None) -> None:
    text = json.dumps(result, indent=1)
    if str(json_file) == "-":
        out.print(text, markup=False)
        return
    out.print(table(result))
    settings, same, one_row = result["settings"], result["identity"], result["one_row"]
    out.print(
        f"{settings['model']}: {settings['engine']} {settings['dtype']} on {settings['device']}, {settings['exact']},"
        f" acceptance {settings['acceptance']}"
    )
    out.print(f"drafted against undrafted texts: {_verdict(same)}")
    if "undrafted" in result["modes"] and any(one_row.values()):
        out.print(f"plain (one row a pass) against undrafted texts: {_verdict(one_row)}")
    if json_file is None:
        return
    try:
        json_file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        fail(f"--json {json_file} cannot be written: {error.strerror}; name another file")


def _verdict(counts: dict[str, int]) -> str:
    if not any(counts.values()):
        return "not compared (that needs the mode undrafted or plain, another mode, and greedy or coupled decoding)"
    return f"{counts['identical']} identical, {counts['tie_break']} parted at a near-tie, {counts['diverged']} diverged"


def _modes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in MODES]
    if unknown or not names or len(set(names)) < len(names):
        fail(f"--modes {text!r}: expected some of {', '.join(MODES)}, each once, separated by commas", code=2)
    return names


def _config(named: dict[str, str]) -> DecoderConfig:
    values = {key: value for key, value in named.items() if value}
    return from_values(dataclasses.asdict(DecoderConfig.load()) | values, "the command line")


def _check_window(context_length: int, max_tokens: int) -> None:
    needed = PROMPT_TOKENS + max_tokens + 64
    if context_length < needed:
        raise EngineError(
            f"bench needs a window of {needed} tokens, here it is {context_length}: raise context_tokens in"
            " config.toml, lower --max-tokens, or take a model with a longer window"
        )


def _check_writable(json_file: Path | None) -> None:
    """Before the run: a result that took half an hour should not be lost to a slip of the pen."""
    if json_file is not None and (json_file.is_dir() or not json_file.parent.is_dir()):
        raise EngineError(f"--json {json_file} cannot be written: name a file in a folder that exists")
