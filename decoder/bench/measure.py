"""One bench from settings to result: our modes, and other engines in turn with them."""

import dataclasses
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from decoder.assemble import Assembly, assemble, model_folder
from decoder.bench.identity import is_looping
from decoder.bench.peers.cold_prompt import ColdPrompt, cold_prompt_report
from decoder.bench.peers.field import Entrant, Field
from decoder.bench.peers.names import PeerName
from decoder.bench.peers.peer import PeerSettings
from decoder.bench.peers.report import OwnPace, peers_report
from decoder.bench.recording import recording_of
from decoder.bench.report import report
from decoder.bench.run import MODES, Bench, Outcome, Run
from decoder.bench.tasks import Task
from decoder.bench.truth import PROMPT_TOKENS
from decoder.config import DecoderConfig
from decoder.cores import available_cores
from decoder.engine import EngineError
from decoder.sampling import NonFiniteLogitsError, most_likely
from decoder.terminal import err
from decoder.wire.messages import Sampling
from drafting.prefix_cache import PrefixCache, prefill


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is run: our modes, other engines, new tokens a task, and how they are chosen.

    record: a file for what is written without drafts, see `Recording`.
    """

    runs: tuple[Run, ...]
    peers: tuple[PeerName, ...]
    max_tokens: int
    sampling: Sampling
    record: Path | None = None


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
            outcomes, cold = _outcomes(bench, field, assembly.target, tasks)
        except NonFiniteLogitsError as error:
            raise EngineError(f"{config.model}: {error}") from error
    if protocol.record:
        sampling, max_tokens = protocol.sampling, protocol.max_tokens
        recorded = recording_of(
            config.model, assembly, outcomes, bench.prompt, sampling=sampling, max_tokens=max_tokens
        )
        recorded.write(protocol.record)
    result = report(outcomes, settings=_settings(config, assembly, protocol))
    if not field:
        return result
    result |= peers_report(field, _paces(outcomes), looping=_looping(outcomes))
    return result | {"cold_prompt": cold_prompt_report(field.outcomes, cold)}


def first_token_seconds(target: PrefixCache, prompt: Sequence[int]) -> float:
    """From an empty cache to the first greedy token, in the passes that a request is evaluated in."""
    target.forget()
    started = time.perf_counter()
    for _ in prefill(target, prompt[:-1]):
        pass
    next(most_likely(target.extend(prompt[-1:], last=1)))
    return time.perf_counter() - started


def _field(config: DecoderConfig, bench: Bench, protocol: Protocol) -> Field:
    settings = PeerSettings(
        model=str(model_folder(config.model)),
        draft_model=str(model_folder(config.draft_model)) if config.draft_model else "",
        stop_ids=tuple(sorted(bench.stop_ids)),
        threads=config.threads or available_cores(),
        context_tokens=config.context_tokens,
    )
    return Field(protocol.peers, settings, max_tokens=protocol.max_tokens)


def _outcomes(
    bench: Bench, field: Field | None, target: PrefixCache, tasks: Sequence[Task]
) -> tuple[list[Outcome], list[ColdPrompt]]:
    """Of all tasks, after one of them has been run to warm everything up. Cold prompts only beside those of peers."""
    for _ in bench.run(tasks[:1]):
        pass
    if field:
        field.load(_told)
        field.warm_up(bench.prompt(tasks[0]))
    outcomes: list[Outcome] = []
    cold: list[ColdPrompt] = []
    with Progress(console=err, transient=True) as progress:
        bar = progress.add_task("bench", total=len(tasks))
        for done, group in enumerate(bench.run(tasks), start=1):
            outcomes += group
            if field:
                name, prompt = group[0].task.id, bench.prompt(group[0].task)
                cold.append(ColdPrompt(name, len(prompt), first_token_seconds(target, prompt)))
                field.run(name, prompt)
            progress.advance(bar)
            if not err.is_terminal and done % max(1, len(tasks) // 12) == 0:
                err.print(f"{done} of {len(tasks)} tasks")
    return outcomes, cold


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
