"""`draftline bench`: are the texts the same, and how much faster do they come?"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from decoder.bench.measure import Protocol, measure
from decoder.bench.peers.names import PeerName, choose_peers
from decoder.bench.peers.peer import PeerError
from decoder.bench.peers.report import absences, peers_table
from decoder.bench.report import table
from decoder.bench.run import MODES, runs
from decoder.bench.tasks import load_tasks, spread
from decoder.complete_command import gamma_named
from decoder.config import DecoderConfig, from_values
from decoder.engine import EngineError
from decoder.terminal import fail, out, plain_errors
from decoder.wire.messages import Sampling


def bench(
    tasks: Annotated[
        Path, typer.Argument(help="A folder NAME with NAME.jsonl.gz and NAME.buffers.jsonl.gz, or a JSON Lines file.")
    ],
    limit: Annotated[int, typer.Option(min=1, help="So many tasks, spread over the languages.")] = 1_000_000,
    modes: Annotated[
        str, typer.Option(help=f"Some of {', '.join(MODES)}, separated by commas.")
    ] = "plain,undrafted,lookup",
    peers: Annotated[
        str, typer.Option(help="Other engines on the same tasks: all, or names and parts of names, as llama.cpp-plain.")
    ] = "",
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
    if peers and temperature:
        fail("--peers: other engines write greedy text only; leave out --temperature", code=2)
    names = _modes(modes)
    protocol = Protocol(
        tuple(runs(names, _gammas(gamma))),
        _peers(peers),
        max_tokens,
        Sampling(temperature, top_p=top_p, seed=seed),
    )
    with plain_errors():
        config = _config({"dtype": dtype, "engine": engine, "acceptance": acceptance})
        chosen = spread(load_tasks(tasks), limit)
        _check_writable(json_file)
        result = measure(config, chosen, protocol)
    result["settings"] |= {"modes": names, "tasks": len(chosen), "gamma": gamma, "peers": peers}
    _print(result, json_file)
    if result["identity"]["diverged"]:
        named = ", ".join(result["differing"][:5])
        fail(f"{result['identity']['diverged']} texts differ from decoding without drafts: {named}")


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
    baseline = "undrafted" if "undrafted" in result["modes"] else "plain"
    out.print(f"drafted against {baseline} texts: {_verdict(same)}")
    if "undrafted" in result["modes"] and any(one_row.values()):
        out.print(f"plain (one row a pass) against undrafted texts: {_verdict(one_row)}")
    if result["peers"]:
        out.print(peers_table(result))
        for line in absences(result):
            out.print(line, markup=False)
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


def _peers(text: str) -> tuple[PeerName, ...]:
    try:
        return tuple(choose_peers(text))
    except PeerError as error:
        fail(f"--peers {text!r}: {error}", code=2)


def _gammas(text: str) -> list[int | None]:
    lengths = [gamma_named(part.strip()) for part in text.split(",")]
    if len(set(lengths)) < len(lengths):
        fail(f"--gamma {text!r}: expected each draft length once", code=2)
    return lengths


def _modes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in MODES]
    if unknown or not names or len(set(names)) < len(names):
        fail(f"--modes {text!r}: expected some of {', '.join(MODES)}, each once, separated by commas", code=2)
    return names


def _config(named: dict[str, str]) -> DecoderConfig:
    values = {key: value for key, value in named.items() if value}
    return from_values(dataclasses.asdict(DecoderConfig.load()) | values, "the command line")


def _check_writable(json_file: Path | None) -> None:
    """Before the run: a result that took half an hour should not be lost to a slip of the pen."""
    if json_file is not None and (json_file.is_dir() or not json_file.parent.is_dir()):
        raise EngineError(f"--json {json_file} cannot be written: name a file in a folder that exists")
