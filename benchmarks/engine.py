"""What the CPU engine costs beside its references: a verify block, loading, memory. `python -m benchmarks.engine`.

All times are taken in turn, so that a machine that drifts is the same for both sides; ratios are medians of pairs.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from decoder import installed
from decoder.assemble import model_folder
from decoder.cores import available_cores, cpu_name
from decoder.loading import cache_folder
from decoder.models.catalog import STARTER
from decoder.openvino_model import OpenVinoModel, Precision
from decoder.tokenizer import Tokenizer

CONTEXT_TOKENS = 600
ROUNDS = 15
_LOADED = """
import sys, time
started = time.perf_counter()
from pathlib import Path
folder, cache = map(Path, sys.argv[1:])
import {module}
{load}
print(time.perf_counter() - started, flush=True)
"""
_OURS = """
from decoder.openvino_model import OpenVinoModel
from decoder.tokenizer import Tokenizer
tokenizer = Tokenizer.load(folder)
OpenVinoModel.load(
    folder, name="starter", vocabulary=tokenizer.vocabulary, context_length=2048, precision="{precision}", cache=cache
)
"""
_GENAI = 'openvino_genai.LLMPipeline(str(folder / "source.gguf"), "CPU")'


def milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


class Subject:
    """An engine with a prompt in its cache; `block(rows)` evaluates so many tokens behind it."""

    def __init__(self, name: str, evaluate: Callable[[Sequence[int]], object], reset: Callable[[], object]) -> None:
        self.name = name
        self._evaluate = evaluate
        self._reset = reset

    def block(self, rows: int) -> float:
        """Milliseconds."""
        self._reset()
        return milliseconds(lambda: self._evaluate(range(1000, 1000 + rows)))


def ours(folder: Path, precision: Precision) -> Subject:
    tokenizer = Tokenizer.load(folder)
    model = OpenVinoModel.load(
        folder,
        name=precision,
        vocabulary=tokenizer.vocabulary,
        context_length=2048,
        precision=precision,
        cache=cache_folder(),
        threads=available_cores(),
    )
    model.min_rows, model.max_rows = 1, 64
    model.extend(list(range(CONTEXT_TOKENS)), last=0)
    return Subject(f"openvino {precision}", model.extend, lambda: model.rewind(CONTEXT_TOKENS))


def transformers_eager(folder: Path) -> Subject:
    """bfloat16, as `generate` would call it."""
    import torch
    import transformers

    torch.set_num_threads(available_cores())
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, attn_implementation="eager", local_files_only=True
    ).eval()
    with torch.inference_mode():
        cache = model(torch.arange(CONTEXT_TOKENS)[None], use_cache=True).past_key_values

    def evaluate(tokens: Sequence[int]) -> object:
        with torch.inference_mode():
            return model(torch.tensor([list(tokens)]), past_key_values=cache, use_cache=True)

    def reset() -> None:
        surplus = cache.get_seq_length() - CONTEXT_TOKENS
        if surplus:
            cache.crop(-surplus)

    return Subject("transformers eager bfloat16", evaluate, reset)


def verify_blocks(subjects: Sequence[Subject]) -> dict[str, dict[int, list[float]]]:
    """Milliseconds of blocks of 1, 9 and 16 rows, taken in turn."""
    times: dict[str, dict[int, list[float]]] = {each.name: {1: [], 9: [], 16: []} for each in subjects}
    for _ in range(ROUNDS):
        for rows in (1, 9, 16):
            for subject in subjects:
                times[subject.name][rows].append(subject.block(rows))
    return times


def load_seconds(folder: Path) -> dict[str, list[float]]:
    """Fresh processes in turn, from their first line to a model that can answer."""
    programs = {
        "draftline int8": _LOADED.format(module="numpy", load=_OURS.format(precision="int8")),
        "draftline float16": _LOADED.format(module="numpy", load=_OURS.format(precision="float16")),
        "openvino_genai (its reading of the GGUF)": _LOADED.format(module="openvino_genai", load=_GENAI),
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(4):
        for name, program in programs.items():
            command = [sys.executable, "-c", program, str(folder), str(cache_folder())]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
            if done.returncode == 0:
                seconds[name].append(float(done.stdout.split()[-1]))
    return {name: taken[1:] for name, taken in seconds.items()}  # the first one warms the page cache


def pair_ratio(left: Sequence[float], right: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(left, right, strict=True))


def main() -> None:
    folder = model_folder(STARTER)
    subjects = [ours(folder, "float16"), ours(folder, "int8"), ours(folder, "int4"), transformers_eager(folder)]
    times = verify_blocks(subjects)
    reference = times["transformers eager bfloat16"][16]
    table = Table("engine", "1 row, ms", "9", "16", "16 rows / 1 row", "16 rows / transformers", box=None)
    result: dict[str, Any] = {"cpu": cpu_name(), "cores": available_cores(), "openvino": installed("openvino")}
    for name, by_rows in times.items():
        medians = [statistics.median(by_rows[rows]) for rows in (1, 9, 16)]
        flat, against = pair_ratio(by_rows[16], by_rows[1]), pair_ratio(by_rows[16], reference)
        table.add_row(name, *(f"{value:.1f}" for value in medians), f"{flat:.2f}", f"{against:.2f}")
        result[name] = {
            "ms": medians,
            "least_ms": [min(each) for each in by_rows.values()],
            "flat": flat,
            "ref": against,
        }
    console = Console()
    console.print(table)
    del subjects
    seconds = load_seconds(folder)
    for name, taken in seconds.items():
        console.print(f"load, {name}: {statistics.median(taken):.2f} s" if taken else f"load, {name}: not installed")
    print(json.dumps(result | {"load_seconds": seconds}))


if __name__ == "__main__":
    main()
