"""`draftline complete`: one completion at a place in a file, in this process."""

import asyncio
import dataclasses
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from rich.text import Text

from decoder.assemble import Assembly, assemble
from decoder.assemble_remote import assemble_remote
from decoder.buffers import Buffers
from decoder.config import DecoderConfig
from decoder.drafters import check_draft
from decoder.environment import set_environment
from decoder.languages import language_of
from decoder.loading import Progress
from decoder.remote.settings import RemoteSettings
from decoder.source_file import Place, read_source, split_at
from decoder.terminal import err, fail, plain_errors
from decoder.wire.messages import PREFIX_CHARACTERS, SUFFIX_CHARACTERS, Answer, BufferOpened, Complete, Draft, Sampling
from decoder.wire.reasons import explanation
from drafting.lines import split_lines

_PER_CENT = re.compile(r"(?P<what>.*): (?P<done>\d+) %")


def complete(
    place: Annotated[str, typer.Argument(metavar="FILE:LINE:COL", help="Cursor, line and column from 1.")],
    open_: Annotated[list[Path] | None, typer.Option("--open", help="A file open in the editor; repeatable.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The answer with times and counts, as one JSON object.")
    ] = False,
    draft: Annotated[str, typer.Option(help="none, lookup, syntax, model or auto.")] = "auto",
    gamma: Annotated[str, typer.Option(help="Draft tokens a step: a number, or auto.")] = "auto",
    max_tokens: Annotated[int, typer.Option(min=1, max=1024, help="Most tokens to write.")] = 64,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.")] = 0.0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0, help="Nucleus sampling; 1 keeps everything.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same text.")] = 0,
) -> None:
    """One completion, written to stdout."""
    cursor, way, length = _place(place), draft_named(draft), gamma_named(gamma)
    set_environment()
    with plain_errors():
        config = DecoderConfig.load()
        if config.remote is None:
            check_draft(way, has_draft_model=bool(config.draft_model))
        request = dataclasses.replace(
            request_at(cursor),
            draft=way,
            gamma=length,
            max_tokens=max_tokens,
            sampling=Sampling(temperature=temperature, top_p=top_p, seed=seed),
        )
        buffers = {str(path): read_source(path) for path in open_ or ()}
        if config.remote is None:
            answer = _local_answer(config, request, buffers)
        else:
            answer = asyncio.run(_remote_answer(config, config.remote, request, buffers))
    _print(answer, as_json)


def request_at(place: Place) -> Complete:
    """What an editor would ask for at a place. Raises EngineError for a file or place that cannot be used."""
    before, after = split_at(read_source(place.path), place)
    return Complete(
        id=1,
        document=str(place.path),
        language=language_of(place.path),
        prefix=before[-PREFIX_CHARACTERS:],
        suffix=after[:SUFFIX_CHARACTERS],
        line=place.line - 1,
        trigger="invoked",
    )


def draft_named(name: str) -> Draft:
    """A way of drafting by its name; a wrong one ends the command with exit code 2."""
    if name not in get_args(Draft):
        fail(f"--draft {name!r} is none of {', '.join(get_args(Draft))}", code=2)
    return cast(Draft, name)


def gamma_named(text: str) -> int | None:
    """A draft length, None for `auto`; a wrong one ends the command with exit code 2."""
    if text == "auto":
        return None
    if not text.isdecimal() or len(text) > 2 or int(text) > 64:
        fail(f"--gamma {text!r} is neither auto nor a number from 0 to 64", code=2)
    return int(text)


@contextmanager
def _progress(beginning: str) -> Iterator[Progress]:
    """What is being done, on stderr: a spinner on a terminal; elsewhere a line for each step that takes its time.

    Of a step that tells its progress in per cent, elsewhere a line for each quarter.
    """
    if not err.is_terminal:
        yield _in_quarters(lambda text: err.print(text, markup=False))
        return
    with err.status(Text(beginning)) as status:
        yield lambda text: status.update(Text(text))


def _in_quarters(progress: Progress) -> Progress:
    told: object = None

    def reached(text: str) -> None:
        nonlocal told
        counted = _PER_CENT.fullmatch(text)
        step = (counted["what"], int(counted["done"]) // 25) if counted else text
        if step != told:
            progress(text)
        told = step

    return reached


def _place(text: str) -> Place:
    try:
        return Place.parse(text)
    except ValueError as error:
        fail(str(error), code=2)


def _local_answer(config: DecoderConfig, request: Complete, buffers: Mapping[str, str]) -> Answer:
    """buffers: open files, text by path."""
    with _progress(f"loading {config.model}") as progress:
        assembly = assemble(config, progress)
    for name, text in buffers.items():
        assembly.corpus.open(name, split_lines(text), language=language_of(Path(name)))
    return asyncio.run(_answer(assembly, config, request))


async def _remote_answer(
    config: DecoderConfig, settings: RemoteSettings, request: Complete, buffers: Mapping[str, str]
) -> Answer:
    """As `_local_answer`, from the server of the settings."""
    opened, request = Buffers(), dataclasses.replace(request, document=f"1:{request.document}")  # as if of one client
    for name, text in buffers.items():
        opened.apply(BufferOpened(f"1:{name}", language_of(Path(name)), 1, text))
    engine = await assemble_remote(config, settings, opened)
    try:
        return await engine.complete(request)
    finally:
        await engine.aclose()


async def _answer(assembly: Assembly, config: DecoderConfig, request: Complete) -> Answer:
    engine = assembly.engine(config)
    try:
        return await engine.complete(request)
    finally:
        await engine.aclose()


def _print(answer: Answer, as_json: bool) -> None:
    if as_json:
        fields = dataclasses.asdict(answer)
        for internal in (
            "id",
            "alternatives",
            *([] if answer.replaces else ["replaces"]),
        ):  # most answers replace nothing
            del fields[internal]
        sys.stdout.write(json.dumps(fields, ensure_ascii=False) + "\n")
        return
    sys.stdout.write(answer.text + ("\n" if answer.text else ""))
    if not answer.text:
        err.print(explanation(answer.reason), markup=False)
    if sys.stderr.isatty():
        counts = answer.speculation
        err.print(
            f"{answer.timings_ms.total:.0f} ms · {answer.tokens.output} tokens in {counts.steps} steps · "
            f"{counts.accepted} of {counts.drafted} draft tokens accepted · {answer.model}",
            style="dim",
        )
