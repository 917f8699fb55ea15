"""Single forward passes: the draft step against its floor, the verify curve, what graphs gain, and whose bits agree."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.gpu_check.clock import median_ms
from benchmarks.gpu_check.findings import Finding
from benchmarks.gpu_check.pairs import ModelSize
from benchmarks.gpu_check.random_model import engine, read_bytes
from decoder.torch_engine.graphs import CudaGraphRecorder, Program
from decoder.torch_model import TorchModel

CURVE = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_HELD = 300
"""Tokens before a measured pass."""


class AsTheyCome:
    """A recorder that records nothing: every kernel is launched by itself."""

    def record(self, run: Program) -> Program:
        return run


def random_tokens(vocabulary: int, count: int) -> list[int]:
    """The same ones every time."""
    return [int(token) for token in np.random.default_rng(0).integers(0, vocabulary, count)]


def pass_ms(model: TorchModel, device: torch.device, rows: int, repeats: int) -> float:
    """One pass over `rows` tokens after `_HELD` held ones, its logits on the device."""
    tokens = random_tokens(model.vocabulary.size, _HELD + rows)
    model.rewind(0)
    model.extend(tokens[:_HELD], last=0)
    return median_ms(device, lambda: model.extend(tokens[_HELD:]), repeats=repeats, between=lambda: model.rewind(_HELD))


def draft_step(
    model: TorchModel, network: Any, device: torch.device, bandwidth: float, repeats: int
) -> Iterator[Finding]:
    """A pass of one row, as drafting takes it, and what reading the weights once would take."""
    model.min_rows = 1
    took = pass_ms(model, device, 1, repeats)
    floor = 1000 * read_bytes(network) / bandwidth
    yield Finding(f"draft step, {model.name}", took, "ms", f"{took / floor:.2f} times the floor")
    yield Finding("  its floor", floor, "ms", f"{read_bytes(network) / 1e9:.1f} GB at the copy bandwidth")
    tokens = random_tokens(model.vocabulary.size, 256)
    model.rewind(0)
    prefill = median_ms(device, lambda: model.extend(tokens, last=0), repeats=3, between=lambda: model.rewind(0))
    yield Finding(f"prefill of 256 tokens, {model.name}", prefill, "ms")


def verify_curve(model: TorchModel, device: torch.device, repeats: int) -> Iterator[Finding]:
    """C(n), the cost of checking n - 1 draft tokens, against that of one row."""
    model.min_rows = 1
    costs = {rows: pass_ms(model, device, rows, repeats) for rows in CURVE}
    for rows, cost in costs.items():
        yield Finding(f"C({rows}), {model.name}", cost, "ms", f"{cost / costs[1]:.2f} times one row")


def graph_gain(network: Any, size: ModelSize, device: torch.device, rows: int, repeats: int) -> Iterator[Finding]:
    """The same pass replayed and launched kernel by kernel; and whether both give the same bits."""
    tokens = random_tokens(size.vocabulary, _HELD + rows)
    costs, logits = [], []
    for recorder in (None, AsTheyCome()):
        model = engine(network, size, context_length=512, min_rows=rows, recorder=recorder)
        costs.append(pass_ms(model, device, rows, repeats))
        logits.append(torch.as_tensor(model.extend(tokens[_HELD:])).cpu())
    replayed, launched = costs
    note = f"{launched:.2f} ms launched one by one, {replayed:.2f} ms replayed"
    yield Finding(f"graph gain, {rows} rows, {size.name}", launched / replayed, "times", note)
    same = torch.equal(*logits)
    yield Finding("  replayed bits", "the same" if same else "others", ok=same)


def failed_capture(device: torch.device) -> Iterator[Finding]:
    """A pass that cannot be captured is run as it is, and the next one is captured again."""
    recorder, numbers = CudaGraphRecorder(device), torch.ones(4, device=device)

    def reads_back() -> torch.Tensor:
        return numbers * float(numbers.sum())

    refused, captured = recorder.record(reads_back) is reads_back, recorder.record(lambda: numbers + 1)
    numbers.mul_(2)
    fine = refused and captured().tolist() == [3.0] * 4 and reads_back().tolist() == [16.0] * 4
    yield Finding("after a failed capture", "all goes on" if fine else "captures are broken", ok=fine)
