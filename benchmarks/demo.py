"""`make demo`: completions of real files in three languages, each decoded plainly and speculatively."""

import asyncio
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from decoder.assemble import Assembly, assemble
from decoder.complete_command import request_at
from decoder.config import DecoderConfig
from decoder.languages import language_of
from decoder.local_engine import LocalEngine
from decoder.source_file import Place
from decoder.wire.messages import Answer
from drafting.lines import split_lines

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "benchmarks" / "samples"


@dataclass(frozen=True, slots=True)
class Spot:
    """A cursor in a file: right behind the last occurrence of `behind`. The other files are open buffers."""

    path: Path
    behind: str
    open_buffers: tuple[Path, ...] = ()

    def place(self) -> Place:
        """The cursor as FILE:LINE:COL has it."""
        before, found, _ = self.path.read_text(encoding="utf-8").rpartition(self.behind)
        if not found:
            raise ValueError(f"{self.path} no longer holds {self.behind!r}")
        lines = split_lines(before + self.behind)
        return Place(self.path, len(lines), len(lines[-1]) + 1)


LEAST_COMPLETIONS = 5

SPOTS = (
    Spot(SAMPLES / "shapes.py", '    def scaled(self, factor: float) -> "Rectangle":\n        '),
    Spot(SAMPLES / "test_shapes.py", "    def test_perimeter(self) -> None:\n        ", (SAMPLES / "shapes.py",)),
    Spot(ROOT / "drafting" / "lines.py", "    lines[first : last + 1] = new\n    "),
    Spot(SAMPLES / "queue.ts", "  cancel(id: number): boolean {\n    "),
    Spot(SAMPLES / "queue.ts", "  clear(priority: Priority): number {\n    const kept = "),
    Spot(SAMPLES / "ring.go", "func (r *Ring) Max() (float64, error) {\n\t"),
    Spot(SAMPLES / "ring.go", "\tmax := r.values[0]\n\t"),
)


async def main() -> int:
    """Prints the table; exit code 1 where a speculative text is not the plain one, or hardly anything was written."""
    console = Console(soft_wrap=False, width=max(120, Console().width))
    config = DecoderConfig.load()
    started = time.perf_counter()
    assembly = assemble(config)
    console.print(
        f"{config.model} ({assembly.dtype}, {assembly.device}) loaded in {time.perf_counter() - started:.1f} s"
    )
    engine = assembly.engine(config)
    table = Table(
        Column("place", no_wrap=True),
        Column("completion", overflow="fold", ratio=1),
        box=box.HORIZONTALS,
        show_lines=True,
    )
    for name in ("plain ms", "ms", "speed", "tokens/step", "text"):
        table.add_column(name, justify="right", no_wrap=True)
    num_different = num_empty = 0
    for spot in SPOTS:
        plain, drafted = await _both(engine, assembly, spot)
        same = plain.text == drafted.text
        num_different += not same
        num_empty += not drafted.text
        table.add_row(*_row(spot, plain, drafted, same))
    await engine.aclose()
    console.print(table)
    console.print(
        "ms: decoding, with the prompt in the KV cache. text: speculative against plain greedy decoding."
        f" {len(SPOTS) - num_different} of {len(SPOTS)} identical."
        " Each was timed once: on a busy machine single rows vary. The starter is a tiny model and repeats itself now"
        " and then, which flatters lookup; `draftline bench` tells texts that loop apart."
    )
    return 1 if num_different or len(SPOTS) - num_empty < LEAST_COMPLETIONS else 0


async def _both(engine: LocalEngine, assembly: Assembly, spot: Spot) -> tuple[Answer, Answer]:
    """The plain and the speculative answer; a first request fills the KV cache for both."""
    place = spot.place()
    request = replace(request_at(place), suffix="", max_tokens=48)
    for path in spot.open_buffers:
        lines = split_lines(path.read_text(encoding="utf-8"))
        assembly.corpus.open(str(path), lines, language=language_of(path))
    await engine.complete(replace(request, draft="none", max_tokens=1))
    plain = await engine.complete(replace(request, draft="none"))
    drafted = await engine.complete(replace(request, draft="syntax"))
    for path in spot.open_buffers:
        assembly.corpus.close(str(path))
    return plain, drafted


def _row(spot: Spot, plain: Answer, drafted: Answer, same: bool) -> tuple[Text | str, ...]:
    place = spot.place()
    steps = max(1, drafted.speculation.steps)
    return (
        f"{place.path.name}:{place.line}:{place.column}",
        Text(drafted.text or f"({drafted.reason})"),
        f"{plain.timings_ms.decode:.0f}",
        f"{drafted.timings_ms.decode:.0f}",
        f"{plain.timings_ms.decode / max(drafted.timings_ms.decode, 0.01):.1f}x",
        f"{drafted.tokens.output / steps:.1f}",
        "identical" if same else "DIFFERENT",
    )


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
