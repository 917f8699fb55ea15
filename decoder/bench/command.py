"""`draftline bench`: are the texts the same, and how much faster do they come?"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from decoder.bench.curves import CURVES, MEASURED
from decoder.bench.measure import Protocol, measure
from decoder.bench.peers.names import PeerName, choose_peers
from decoder.bench.peers.peer import PeerError
from decoder.bench.peers.report import absences, peers_table
from decoder.bench.replay_command import Replay, curves_named, print_replay
from decoder.bench.report import table
from decoder.bench.run import MODES, PLAIN, UNDRAFTED, runs
from decoder.bench.tasks import load_tasks, spread
from decoder.complete_command import gamma_named
from decoder.config import DecoderConfig, from_values
from decoder.engine import EngineError
from decoder.environment import set_environment
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
    by_language: Annotated[bool, typer.Option("--by-language", help="A row for each language.")] = False,
    wholecopy: Annotated[
        bool, typer.Option("--wholecopy", help="Also the tasks of NAME.wholecopy.jsonl.gz; figures with and without.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(help="Keep the texts written without drafts in a file (token ids), for --replay.")
    ] = None,
    replay: Annotated[
        str,
        typer.Option(
            metavar="written|FILE",
            help="Grade drafts without a model, on the text that was really written, or on a file by --record. Assumes"
            " that the target writes just that text, whole whatever --max-tokens says; greedy acceptance; the time of"
            " --cost; free drafting.",
        ),
    ] = "",
    cost: Annotated[
        str,
        typer.Option(
            help=f"What passes cost in a replay, some of {MEASURED}, {', '.join(CURVES)}, separated by commas. By"
            f" default {MEASURED} (with the file, or on this machine) for a file, flat for written."
        ),
    ] = "",
) -> None:
    """Plain against speculative decoding on the same tasks, with every text compared.

    Exit code 1 where a text differs from that of decoding without drafts (by more than a near-tie, on an engine that
    is not bitwise exact).
    """
    if peers and temperature:
        fail("--peers: other engines write greedy text only; leave out --temperature", code=2)
    _check_replay(replay, {"--peers": peers, "--record": record, "--temperature": temperature}, cost)
    names = _modes(modes)
    if record and not {PLAIN, UNDRAFTED} & set(names):
        fail("--record keeps what is written without drafts: add undrafted to --modes", code=2)
    chosen_runs = tuple(runs(names, _gammas(gamma)))
    curves, chosen_peers = curves_named(cost), _peers(peers)
    settings: dict[str, Any] = {"modes": names, "gamma": gamma}
    set_environment()
    with plain_errors():
        config = _config({"dtype": dtype, "engine": engine, "acceptance": acceptance})
        found = load_tasks(tasks, whole_copies=wholecopy)
        _check_writable("--json", json_file)
        _check_writable("--record", record)
        if replay:
            result = Replay(replay, curves).run(config, found, chosen_runs, limit)
        else:
            chosen = spread(found, limit)
            sampling = Sampling(temperature, top_p=top_p, seed=seed)
            result = measure(config, chosen, Protocol(chosen_runs, chosen_peers, max_tokens, sampling, record))
            settings |= {"tasks": len(chosen), "peers": peers}
    result["settings"] |= settings
    _print(result, json_file, languages=by_language)
    if not replay:
        _judge(result)


def _judge(result: dict[str, Any]) -> None:
    """Ends the command with exit code 1 where a text differs."""
    if result["identity"]["diverged"]:
        named = ", ".join(result["differing"][:5])
        fail(f"{result['identity']['diverged']} texts differ from decoding without drafts: {named}")


def _print(result: dict[str, Any], json_file: Path | None, *, languages: bool) -> None:
    text = json.dumps(result, indent=1)
    if str(json_file) == "-":
        out.print(text, markup=False)
        return
    if "replay" in result:
        print_replay(result, languages=languages)
    else:
        _print_measured(result, languages=languages)
    if json_file is None:
        return
    try:
        json_file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        fail(f"--json {json_file} cannot be written: {error.strerror}; name another file")


def _print_measured(result: dict[str, Any], *, languages: bool) -> None:
    out.print(table(result, languages=languages))
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
    settings = dataclasses.asdict(dataclasses.replace(DecoderConfig.load(), remote=None))
    chosen = {key: value for key, value in settings.items() if value is not None}
    return from_values(chosen | values, "the command line")


def _check_replay(replay: str, others: dict[str, object], cost: str) -> None:
    """Ends the command with exit code 2 where options contradict each other."""
    for name, value in others.items():
        if replay and value:
            fail(f"{name} needs the model, and --replay runs without it: leave out one of them", code=2)
    if cost and not replay:
        fail("--cost is what passes cost in a --replay; without it they are measured: leave out --cost", code=2)


def _check_writable(option: str, path: Path | None) -> None:
    """Before the run: a result that took half an hour should not be lost to a slip of the pen."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise EngineError(f"{option} {path} cannot be written: name a file in a folder that exists")
