"""What the index of open buffers costs: bytes per token, opening, edits. `python -m benchmarks.lookup [TASKS]`.

Fills a corpus with buffers of the evaluation tasks, tokenised by the starter's tokenizer.
"""

import gc
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from rich.console import Console
from rich.table import Table

from decoder.assemble import model_folder
from decoder.bench.tasks import load_tasks
from decoder.buffers import Buffers
from decoder.engine import EngineError
from decoder.indexing import IndexingThread
from decoder.languages import language_of
from decoder.models.catalog import STARTER
from decoder.models.store import ModelStoreError
from decoder.tokenizer import Tokenizer
from decoder.wire.messages import BufferEdited, BufferOpened, TextEdit
from drafting.corpus import Corpus
from drafting.lines import split_lines
from drafting.screening import MAX_BUFFER_CHARACTERS

TASKS = Path("../shared/tasks/dev")
NUM_TOKENS = 200_000
MAX_BYTES_PER_TOKEN = 250
MAX_EDIT_MS = 1.0
NUM_KEYS = 1_000
KEYS_A_PLACE = 20
TYPED = "value = call(item.name)"
MAX_OPEN_MS = 20.0
LINE = "x = compute(1, 2, 3)\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result; `limit` is the bar for `figure`, in the same unit."""

    what: str
    figure: float
    unit: str
    limit: float | None = None


def filled(tokenizer: Tokenizer, buffers: Sequence[BufferOpened]) -> tuple[Corpus, list[float]]:
    """A corpus of about NUM_TOKENS tokens, and the milliseconds that each of its documents took."""
    corpus = Corpus(tokenizer.encode, tokenizer.token_bytes)
    times: list[float] = []
    for buffer in buffers:
        if corpus.num_tokens > 0.95 * NUM_TOKENS:
            break
        lines = split_lines(buffer.text)
        times.append(milliseconds(partial(corpus.open, buffer.document, lines, language=buffer.language)))
    return corpus, times


def memory(tokenizer: Tokenizer, buffers: Sequence[BufferOpened]) -> Iterator[Row]:
    """Everything allocated for the corpus, the lines of the documents and tree-sitter's trees included."""
    filled(tokenizer, buffers[:20])  # grammars and names that stay
    gc.collect()
    tracemalloc.start()
    corpus, _ = filled(tokenizer, buffers)
    gc.collect()
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield Row("corpus", corpus.num_tokens, "tokens")
    yield Row("memory", allocated / corpus.num_tokens, "bytes per token", MAX_BYTES_PER_TOKEN)


def opening(tokenizer: Tokenizer, buffers: Sequence[BufferOpened]) -> Iterator[Row]:
    """How long the indexing thread is busy with a document, and the event loop with a very large one."""
    _, times = filled(tokenizer, buffers)
    yield Row("open on the indexing thread, p50", percentile(times, 0.5), "ms")
    yield Row("open on the indexing thread, longest", max(times), "ms")
    for size in (MAX_BUFFER_CHARACTERS, 12 * MAX_BUFFER_CHARACTERS):
        large = BufferOpened("large", "python", 1, LINE * (size // len(LINE)))
        took = milliseconds(partial(Buffers().apply, large))
        yield Row(f"open on the request path, {size:,} characters", took, "ms", MAX_OPEN_MS)


def edits(tokenizer: Tokenizer, buffers: Sequence[BufferOpened]) -> Iterator[Row]:
    """Keys typed at random places of a full corpus: on the request path, and until they are indexed."""
    corpus = Corpus(tokenizer.encode, tokenizer.token_bytes)
    indexing, followed = IndexingThread(corpus), Buffers()
    followed.attach(indexing)
    opened: list[BufferOpened] = []
    for buffer in buffers:
        if corpus.num_tokens > 0.95 * NUM_TOKENS:
            break
        followed.apply(buffer)
        opened.append(buffer)
        indexing.wait()
    applied: list[float] = []
    indexed: list[float] = []
    for edit in keys(opened):
        started = time.perf_counter()
        followed.apply(edit)
        applied.append(1000 * (time.perf_counter() - started))
        indexing.wait()
        indexed.append(1000 * (time.perf_counter() - started))
    indexing.stop()
    yield Row("edit on the request path, p50", percentile(applied, 0.5), "ms")
    yield Row("edit on the request path, p99", percentile(applied, 0.99), "ms", MAX_EDIT_MS)
    yield Row("edit until indexed, p50", percentile(indexed, 0.5), "ms")
    yield Row("edit until indexed, p99", percentile(indexed, 0.99), "ms")


def keys(buffers: Sequence[BufferOpened]) -> Iterator[BufferEdited]:
    """NUM_KEYS single characters, KEYS_A_PLACE in a row at the end of one line."""
    chance = random.Random(0)
    versions = {buffer.document: buffer.version for buffer in buffers}
    for _ in range(NUM_KEYS // KEYS_A_PLACE):
        buffer = chance.choice(buffers)
        line = chance.randrange(len(split_lines(buffer.text)))
        for character in TYPED[:KEYS_A_PLACE]:
            version = versions[buffer.document]
            versions[buffer.document] = version + 1
            edit = TextEdit(line, 1_000_000, line, 1_000_000, character)
            yield BufferEdited(buffer.document, version, version + 1, (edit,))


def task_buffers(tasks: Path) -> list[BufferOpened]:
    """The open buffers of all tasks, each text once, in a fixed order without rhyme. Raises EngineError."""
    found = {buffer.text: buffer.path for task in load_tasks(tasks) for buffer in task.open_buffers}
    opened = [
        BufferOpened(f"{number}:{path}", language_of(PurePath(path)), 1, text)
        for number, (text, path) in enumerate(found.items())
    ]
    random.Random(0).shuffle(opened)
    return opened


def percentile(times: Sequence[float], share: float) -> float:
    """The value that `share` of all are not above."""
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


def milliseconds(work: Callable[[], object]) -> float:
    """How long it takes once."""
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def show(console: Console, rows: Sequence[Row]) -> bool:
    """Prints the figures beside their bars; returns whether all are met."""
    table = Table("what", "figure", "unit", "bar")
    for row in rows:
        bar = "" if row.limit is None else f"<= {row.limit:g}" + ("" if row.figure <= row.limit else " MISSED")
        table.add_row(row.what, f"{row.figure:,.3g}" if row.figure < 1000 else f"{row.figure:,.0f}", row.unit, bar)
    console.print(table)
    return all(row.limit is None or row.figure <= row.limit for row in rows)


def main() -> None:
    """Measures and prints; exit code 1 where a bar is missed."""
    console = Console()
    tasks = Path(sys.argv[1]) if len(sys.argv) > 1 else TASKS
    try:
        buffers = task_buffers(tasks)
        tokenizer = Tokenizer.load(model_folder(STARTER))
    except (EngineError, ModelStoreError) as error:
        console.print(f"nothing measured: {error}")
        return
    parts = (memory, opening, edits)
    if not show(console, [row for part in parts for row in part(tokenizer, buffers)]):
        sys.exit(1)


if __name__ == "__main__":
    main()
