"""One bench from settings to result: our modes, and other engines in turn with them."""

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from decoder.assemble import Assembly, assemble, model_folder
from decoder.bench.identity import is_looping
from decoder.bench.peers.field import Entrant, Field
from decoder.bench.peers.names import PeerName
from decoder.bench.peers.peer import PeerSettings
from decoder.bench.peers.report import OwnPace, peers_report
from decoder.bench.report import report
from decoder.bench.run import MODES, PROMPT_TOKENS, Bench, Outcome, Run
from decoder.bench.tasks import Task
from decoder.config import DecoderConfig
from decoder.cores import available_cores
from decoder.engine import EngineError
from decoder.sampling import NonFiniteLogitsError
from decoder.terminal import err
from decoder.wire.messages import Sampling


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is run: our modes, other engines, new tokens a task, and how they are chosen."""

    runs: tuple[Run, ...]
    peers: tuple[PeerName, ...]
    max_tokens: int
    sampling: Sampling


def measure(config: DecoderConfig, tasks: Sequence[Task], protocol: Protocol) -> dict[str, Any]:
    """The object of `bench --json`. Raises EngineError where a mode is not available or the model fails."""
    assembly = assemble(config, lambda text: err.print(text, markup=False))
    _check_window(assembly, protocol.max_tokens)
    for run in protocol.runs:
        assembly.drafters.check(MODES[run.mode])
    bench = Bench(assembly, protocol.runs, max_tokens=protocol.max_tokens, sampling=protocol.sampling)
    with ExitStack() as stack:
        field = stack.enter_context(_field(config, bench, protocol)) if protocol.peers else None
        try:
            outcomes = _outcomes(bench, field, tasks)
        except NonFiniteLogitsError as error:
            raise EngineError(f"{config.model}: {error}") from error
    result = report(outcomes, settings=_settings(config, assembly, protocol))
    return result | peers_report(field, _paces(outcomes), looping=_looping(outcomes)) if field else result


def _field(config: DecoderConfig, bench: Bench, protocol: Protocol) -> Field:
    settings = PeerSettings(
        model=str(model_folder(config.model)),
        draft_model=str(model_folder(config.draft_model)) if config.draft_model else "",
        stop_ids=tuple(sorted(bench.stop_ids)),
        threads=config.threads or available_cores(),
        context_tokens=config.context_tokens,
    )
    return Field(protocol.peers, settings, max_tokens=protocol.max_tokens)


def _outcomes(bench: Bench, field: Field | None, tasks: Sequence[Task]) -> list[Outcome]:
    """Of all tasks, after one of them has been run to warm everything up."""
    for _ in bench.run(tasks[:1]):
        pass
    if field:
        field.load(_told)
        field.warm_up(bench.prompt(tasks[0]))
    outcomes: list[Outcome] = []
    with Progress(console=err, transient=True) as progress:
        bar = progress.add_task("bench", total=len(tasks))
        for done, group in enumerate(bench.run(tasks), start=1):
            outcomes += group
            if field:
                field.run(group[0].task.id, bench.prompt(group[0].task))
            progress.advance(bar)
            if not err.is_terminal and done % max(1, len(tasks) // 12) == 0:
                err.print(f"{done} of {len(tasks)} tasks")
    return outcomes


def _told(entrant: Entrant) -> None:
    said = entrant.reason or f"loaded in {entrant.load_seconds:.1f} s"
    err.print(f"{entrant.peer}: {said}", markup=False)


def _paces(outcomes: Sequence[Outcome]) -> list[OwnPace]:
    return [OwnPace(each.mode, each.task.id, each.decode_seconds / len(each.tokens)) for each in outcomes]


def _looping(outcomes: Sequence[Outcome]) -> set[str]:
    return {each.task.id for each in outcomes if is_looping(each.tokens)}


def _settings(config: DecoderConfig, assembly: Assembly, protocol: Protocol) -> dict[str, Any]:
    return {
        "model": config.model,
        "engine": assembly.loaded.place.engine,
        "dtype": assembly.dtype,
        "exact": str(assembly.loaded.exactness),
        "acceptance": assembly.rule,
        "device": assembly.device,
        "sampling": dataclasses.asdict(protocol.sampling),
        "max_tokens": protocol.max_tokens,
    }


def _check_window(assembly: Assembly, max_tokens: int) -> None:
    needed, has = PROMPT_TOKENS + max_tokens + 64, assembly.target.model.context_length
    if has < needed:
        raise EngineError(
            f"bench needs a window of {needed} tokens, here it is {has}: raise context_tokens in"
            " config.toml, lower --max-tokens, or take a model with a longer window"
        )
