"""`draftline bench --replay`: the texts that drafts are graded on, the cost curves, and the result for a person."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from decoder.assemble import model_folder
from decoder.bench.curves import CURVES, MEASURED, measured_here
from decoder.bench.grade import grade
from decoder.bench.recording import Recording
from decoder.bench.replay_report import replay_tables
from decoder.bench.run import MODES, Run
from decoder.bench.tasks import Task, spread
from decoder.bench.truth import Truth, written
from decoder.config import DecoderConfig
from decoder.cost import PassCost
from decoder.engine import EngineError
from decoder.models.catalog import CatalogError
from decoder.models.store import ModelStoreError
from decoder.terminal import fail, out
from decoder.tokenizer import Tokenizer, TokenizerError

WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class Replay:
    """source: WRITTEN, or a file by `--record`. curves: names of cost curves, none for the source's own."""

    source: str
    curves: tuple[str, ...]

    def run(self, config: DecoderConfig, tasks: Sequence[Task], runs: Sequence[Run], limit: int) -> dict[str, Any]:
        """The object of `--json`. Loads the tokenizer, and no model. Raises EngineError."""
        drafting = [run for run in runs if MODES[run.mode] != "none"]
        if not drafting:
            raise EngineError("--replay grades drafts: name a mode that drafts, as --modes lookup")
        tokenizer = _tokenizer(config.model)
        if self.source == WRITTEN:
            truths, header = [written(task, tokenizer) for task in spread(tasks, limit)], None
        else:
            recording = Recording.read(Path(self.source))
            truths, header = _limited(recording.truths(tasks, tokenizer, config.model), limit), recording.header
        curves = self._curves(config, header.cost if header else None)
        result = {"replay": self.source} | grade(truths, tokenizer, drafting, curves)
        return result | {
            "recorded": asdict(header) if header else {},
            "settings": {"model": config.model, "tasks": len(truths)},
        }

    def _curves(self, config: DecoderConfig, recorded: PassCost | None) -> dict[str, PassCost]:
        names = self.curves or ((MEASURED,) if recorded else ("flat",))
        return {name: (recorded or measured_here(config)) if name == MEASURED else CURVES[name] for name in names}


def curves_named(text: str) -> tuple[str, ...]:
    """Names of cost curves; a wrong one ends the command with exit code 2."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    known = (MEASURED, *CURVES)
    if len(set(names)) < len(names) or not set(names) <= set(known):
        fail(f"--cost {text!r}: expected some of {', '.join(known)}, each once, separated by commas", code=2)
    return names


def print_replay(result: dict[str, Any], *, languages: bool) -> None:
    """Tables, and what was assumed."""
    for part in replay_tables(result, languages=languages):
        out.print(part)
    out.print(f"replay of {result['replay']}, assumed: {'; '.join(result['assumptions'])}", markup=False)


def _limited(truths: Sequence[Truth], limit: int) -> list[Truth]:
    by_id = {truth.task.id: truth for truth in truths}
    return [by_id[task.id] for task in spread((truth.task for truth in truths), limit)]


def _tokenizer(model: str) -> Tokenizer:
    try:
        return Tokenizer.load(model_folder(model))
    except (CatalogError, ModelStoreError, TokenizerError) as error:
        raise EngineError(str(error)) from error
