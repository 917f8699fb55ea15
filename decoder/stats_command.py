"""`draftline stats`: what drafting has learned, and what answers took."""

import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from typing import Annotated

import typer
from rich.console import Console

from decoder.config import DecoderConfig
from decoder.learned import Learned, learned_path
from decoder.stats.answer_log import AnswerLog
from decoder.stats.answer_row import AnswerRow, CostOf, answer_rows
from decoder.stats.learned_row import LearnedRow, learned_rows
from decoder.stats.tables import NOT_KEPT_YET, NOTHING_YET, answer_table, learned_tables
from decoder.stats.todays_cost import todays_cost
from decoder.terminal import err, fail, out, plain_errors

_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_PIPE_WIDTH = 160


def stats(
    since: Annotated[
        str, typer.Option(metavar="D", help="Answers of the last 30m, 12h, 7d or 2w; all that are kept by default.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One object, for scripts.")] = False,
) -> None:
    """What drafting has learned by file type, the draft length that pays today, and what answers took."""
    oldest = time.time() - _seconds(since) if since else 0.0
    log = AnswerLog(learned_path().parent)
    with plain_errors():
        cost_of = cache(partial(todays_cost, DecoderConfig.load()))
    learned = _learned(cost_of)
    answers = list(answer_rows(log.answers(oldest), cost_of))
    if as_json:
        shown = {"learned": [asdict(row) for row in learned], "answers": [asdict(row) for row in answers]}
        kept = {"unknown_records": log.num_unknown, "torn_files": log.num_torn}
        sys.stdout.write(json.dumps(shown | {"log": kept}, ensure_ascii=False) + "\n")
        return
    _print(learned, answers)
    if log.num_unknown or log.num_torn:
        err.print(_passed_over(log))


def _learned(cost_of: CostOf) -> list[LearnedRow]:
    kept = Learned(learned_path())
    return [row for model in kept.models() for row in learned_rows(model, kept.survival(model), cost_of(model))]


def _print(learned: Sequence[LearnedRow], answers: Sequence[AnswerRow]) -> None:
    tables = [*learned_tables(learned), *([answer_table(answers)] if answers else [])]
    # a pipe has no width to fit: the rows stay whole
    console = out if out.is_terminal else Console(width=_PIPE_WIDTH, highlight=False, emoji=False)
    if answers and not learned:
        tables.insert(0, NOT_KEPT_YET)
    for shown in tables or [NOTHING_YET]:
        console.print(shown, soft_wrap=True, markup=False)


def _passed_over(log: AnswerLog) -> str:
    return (
        f"passed over in the log: {log.num_unknown} records of another version, the damaged end of {log.num_torn} files"
    )


def _seconds(since: str) -> int:
    """A time span; a wrong one ends the command with exit code 2."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", since)
    if not found:
        fail(f"--since {since!r} is no time span: give a number with m, h, d or w, as in 7d", code=2)
    return int(found[1]) * _SECONDS[found[2]]
