"""The same promises on a CUDA device, with the starter model. One short run; `make gpu-check` begins it."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from decoder.assemble import Assembly, assemble
from decoder.bench.run import PLAIN, UNDRAFTED, Bench, runs
from decoder.bench.tasks import OpenBuffer, Task
from decoder.config import DecoderConfig
from decoder.wire.messages import Sampling

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.starter,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

SAMPLES = Path(__file__).resolve().parent.parent.parent / "benchmarks" / "samples"
CONFIG = DecoderConfig(engine="torch", device="cuda", dtype="float32")


def tasks() -> list[Task]:
    """Twelve cursors in the sample files, each with the others open."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(SAMPLES.iterdir())}
    found = []
    for name, text in texts.items():
        others = tuple(OpenBuffer(other, content) for other, content in texts.items() if other != name)
        for part in (3, 4, 5):
            cut = text.rfind("\n", 0, len(text) * part // 6) + 1
            found.append(Task(f"{name}-{part}", name, name, text[:cut], "", text[cut:], others))
    return found


def verdicts(assembly: Assembly, gammas: Sequence[int]) -> list[str | None]:
    """Of every text with lookup drafts, against the one without."""
    bench = Bench(assembly, runs([UNDRAFTED, "lookup"], gammas), max_tokens=32, sampling=Sampling())
    return [each.identity for group in bench.run(tasks()) for each in group if each.identity is not None]


def test_speculative_text_is_plain_text_in_float32(starter_folder: Path) -> None:
    assert starter_folder.is_dir()
    assert set(verdicts(assemble(CONFIG), [1, 4, 15])) == {"identical"}


def test_bfloat16_keeps_what_the_probe_promised(starter_folder: Path) -> None:
    assert starter_folder.is_dir()
    assembly = assemble(replace(CONFIG, dtype="bfloat16"))
    found = verdicts(assembly, [1, 8, 15])
    assert "diverged" not in found
    if assembly.loaded.exactness.kind == "bitwise":
        assert set(found) == {"identical"}


def test_a_model_drafting_for_itself_is_accepted(starter_folder: Path) -> None:
    assert starter_folder.is_dir()
    assembly = assemble(replace(CONFIG, draft_model="smollm2-135m"))
    bench = Bench(assembly, runs([PLAIN, "model"], [4]), max_tokens=32, sampling=Sampling())
    counts = [each.speculation for group in bench.run(tasks()) for each in group if each.mode != PLAIN]
    drafted, accepted = sum(each.drafted for each in counts), sum(each.accepted for each in counts)
    assert accepted >= 0.99 * drafted > 0


def test_a_block_costs_little_more_than_a_row(starter_folder: Path) -> None:
    """What speculation lives on: the figures are printed for the record."""
    assert starter_folder.is_dir()
    target = assemble(replace(CONFIG, dtype="bfloat16")).target
    target.extend(list(range(100, 700)), last=0)
    cost = {}
    for rows in (1, 4, 8, 16, 32):
        times = []
        for _ in range(30):
            torch.cuda.synchronize()
            started = time.perf_counter()
            target.extend(list(range(200, 200 + rows)))
            torch.cuda.synchronize()
            times.append(time.perf_counter() - started)
            target.rewind(600)
        cost[rows] = 1000 * statistics.median(times)
    print({rows: f"{milliseconds:.2f} ms" for rows, milliseconds in cost.items()}, torch.cuda.get_device_name(0))
    assert cost[16] < 3 * cost[1]
