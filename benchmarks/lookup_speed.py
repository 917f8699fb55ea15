"""`python -m benchmarks.lookup_speed`: time of a draft over a full corpus, at cursors of the tasks."""

import sys
import time
from collections.abc import Sequence
from functools import cache
from itertools import cycle
from pathlib import Path, PurePath
from statistics import quantiles

from decoder.bench.tasks import Task, load_tasks, spread
from decoder.languages import language_of
from decoder.models.store import ModelStore, ModelStoreError
from decoder.tokenizer import Tokenizer
from drafting.context_index import ContextIndex
from drafting.context_lexemes import ContextLexemes
from drafting.corpus import MAX_CORPUS_TOKENS, Corpus
from drafting.interface import Drafter
from drafting.likeness import Cursor
from drafting.lines import split_lines, to_lf
from drafting.lookup import LookupDrafter
from drafting.seam import Seam
from drafting.syntax_drafter import SyntaxDrafter

TASKS = Path(__file__).resolve().parent.parent.parent / "shared" / "tasks" / "dev"
STARTER = "smollm2-135m"
FULL = 0.95
"""The share of its room that the corpus is filled to, at least."""

CONTEXT_TOKENS = 2_000
MAX_WRITTEN = 64
NUM_TASKS = 48
GAMMA = 8
BLOCK_MS = 40
"""A verification on two cores with the starter model."""


def main() -> int:
    """Prints percentiles for each drafter; nothing is measured where there are no tasks or no starter model."""
    try:
        folder = ModelStore().path(STARTER)
    except ModelStoreError as error:
        print(f"skipped: {error}")
        return 0
    if not TASKS.is_dir():
        print(f"skipped: no tasks in {TASKS}")
        return 0
    tokenizer = Tokenizer.load(folder)
    token_bytes = cache(tokenizer.token_bytes)  # as `Drafters` has it
    tasks = load_tasks(TASKS)
    corpus = full_corpus(tasks, Corpus(tokenizer.encode, token_bytes))
    print(f"{corpus.num_tokens:,} tokens in the corpus, gamma {GAMMA}; microseconds a draft")
    seam = Seam(tokenizer.encode, token_bytes)
    times: dict[str, list[float]] = {"lookup": [], "syntax": []}
    for task in spread(tasks, NUM_TASKS):
        language = language_of(PurePath(task.path))
        lexemes = ContextLexemes(token_bytes, corpus.syntax.keywords(language))
        cursor = Cursor(language, corpus.syntax.grammar(language), token_bytes)
        written = tokenizer.encode(to_lf(task.prefix + task.middle))
        start = max(1, len(tokenizer.encode(to_lf(task.prefix))) - 1)
        context, middle = written[max(0, start - CONTEXT_TOKENS) : start], written[start : start + MAX_WRITTEN]
        times["lookup"] += draft_times(LookupDrafter(ContextIndex(), corpus), context, middle)
        times["syntax"] += draft_times(SyntaxDrafter(lexemes, seam, corpus, cursor=cursor), context, middle)
    for name, found in times.items():
        p50, p99 = (quantiles(found, n=100)[rank - 1] for rank in (50, 99))
        share = 100 * p50 / (BLOCK_MS * 1_000)
        print(
            f"{name:8} p50 {p50:6.1f}  p99 {p99:6.1f}  ({len(found):,} drafts; p50 is {share:.2f} % of {BLOCK_MS} ms)"
        )
    return 0


def full_corpus(tasks: Sequence[Task], corpus: Corpus) -> Corpus:
    """`corpus` with as many buffers of the tasks as it takes."""
    buffers = {buffer.path: buffer for task in tasks for buffer in task.open_buffers}
    for buffer in buffers.values():
        lines = split_lines(to_lf(buffer.text))
        corpus.open(buffer.path, lines, language=language_of(PurePath(buffer.path)))
        if corpus.num_tokens > FULL * MAX_CORPUS_TOKENS:
            break
    return corpus


def draft_times(drafter: Drafter, context: Sequence[int], middle: Sequence[int]) -> list[float]:
    """Microseconds of each draft but the first, which takes in the context, while one or two tokens come a step."""
    text = list(context)
    drafter.draft(text, GAMMA)
    times: list[float] = []
    position = 0
    for num_tokens in cycle((1, 2, 2)):
        text += middle[position : position + num_tokens]
        position += num_tokens
        if position >= len(middle):
            return times
        started = time.perf_counter_ns()
        drafter.draft(text, GAMMA)
        times.append((time.perf_counter_ns() - started) / 1_000)
    return times


if __name__ == "__main__":
    sys.exit(main())
