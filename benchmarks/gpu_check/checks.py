"""The checks in their order; what one builds, the next ones use."""

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import torch

from benchmarks.gpu_check.clock import copy_bandwidth
from benchmarks.gpu_check.findings import Finding
from benchmarks.gpu_check.identity import identity
from benchmarks.gpu_check.linears import trials, usable
from benchmarks.gpu_check.loop import end_to_end
from benchmarks.gpu_check.pairs import LLAMA3_1B, PAIRS, TINY, TINY_TARGET, Pair
from benchmarks.gpu_check.pressure import degradation
from benchmarks.gpu_check.random_model import engine, random_network, read_bytes
from benchmarks.gpu_check.steps import draft_step, failed_capture, graph_gain, verify_curve
from benchmarks.gpu_check.weight_only import LinearKind
from decoder.exactness import probe_exactness
from decoder.torch_model import TorchModel

Check = Callable[[], Iterator[Finding]]

_CONTEXT = 2048
_WORKSPACE = 12e9
"""Bytes kept free for caches, graphs and activations."""
_PROMISES_S = 150
_ROOT = Path(__file__).resolve().parent.parent.parent


class Lab:
    """A device and the models that were built on it."""

    def __init__(self, device: torch.device) -> None:
        """On a CPU everything is tiny."""
        self._device = device
        self._tiny = device.type == "cpu"
        self._repeats = 2 if self._tiny else 20
        self._bandwidth = 1e9
        self._kinds: list[LinearKind] = []
        self._models: dict[str, TorchModel] = {}

    def checks(self) -> list[Check]:
        """Each to be run once, in this order."""
        return [
            self.bandwidth,
            self.quantised_layers,
            self.draft_model,
            self.target_model,
            self.decoding,
            self.running_out_of_memory,
            self.promises,
        ]

    def bandwidth(self) -> Iterator[Finding]:
        self._bandwidth = copy_bandwidth(self._device, 1 << (20 if self._tiny else 32))
        yield Finding("copy bandwidth", self._bandwidth / 1e9, "GB/s", "bytes read and written")

    def quantised_layers(self) -> Iterator[Finding]:
        num_out, num_in = (256, 128) if self._tiny else (28672, 8192)
        found = trials((num_out, num_in), self._device, self._repeats)
        self._kinds = usable(found)
        for trial in found:
            name = f"{trial.kind.__name__}, 16 rows, {num_in} to {num_out}"
            floor = num_out * num_in * trial.kind.bits / 8 / self._bandwidth * 1000
            if trial.fault:
                yield Finding(name, "not here", "", trial.fault)
            else:
                yield Finding(name, trial.ms, "ms", f"{trial.ms / floor:.1f} times the floor; error {trial.error:.3f}")

    def draft_model(self) -> Iterator[Finding]:
        size = self._pair()[0].draft
        network = random_network(size, self._device)
        yield from graph_gain(network, size, self._device, 1, self._repeats)
        if not self._tiny:
            yield from failed_capture(self._device)
        model = self._models["draft"] = engine(network, size, context_length=_CONTEXT)
        yield from draft_step(model, network, self._device, self._bandwidth, self._repeats)
        yield from self._exactness(model)
        model.min_rows = 1  # nobody compares a draft model's bits

    def target_model(self) -> Iterator[Finding]:
        pair, kind = self._pair()
        network = random_network(pair.target, self._device, kind)
        note = f"{kind.__name__}, a stand-in for a quantised model" if kind else "bfloat16"
        yield Finding(f"weights read, {pair.target.name}", read_bytes(network) / 1e9, "GB", note)
        model = self._models["target"] = engine(network, pair.target, context_length=_CONTEXT)
        yield from verify_curve(model, self._device, self._repeats)
        yield from graph_gain(network, pair.target, self._device, 16, self._repeats)
        yield from self._exactness(model)

    def decoding(self) -> Iterator[Finding]:
        yield from end_to_end(self._models["target"], self._models["draft"], self._device, 24 if self._tiny else 192)

    def running_out_of_memory(self) -> Iterator[Finding]:
        self._models.clear()
        gc.collect()
        yield from degradation(TINY_TARGET if self._tiny else LLAMA3_1B, self._device)

    def promises(self) -> Iterator[Finding]:
        """The tests that need a CUDA device, where what they need is installed."""
        needed = ("pytest", "hypothesis", "cattrs", "array_api_compat", "platformdirs")
        missing = [name for name in needed if find_spec(name) is None]
        if missing or self._tiny:
            yield Finding("tests/gpu", "left out", "", f"needs {', '.join(missing) or 'a CUDA device'}")
            return
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/gpu", "--tb=line"]
        run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_PROMISES_S, check=False)
        last = (run.stdout.strip().splitlines() or [run.stderr.strip()])[-1]
        yield Finding("tests/gpu", "passed" if run.returncode == 0 else "failed", "", last, ok=run.returncode == 0)

    def _exactness(self, model: TorchModel) -> Iterator[Finding]:
        model.min_rows = 8
        found = probe_exactness(model)
        yield Finding(f"bits, {model.name}", found.kind, "", str(found))
        yield from identity(model, 12 if self._tiny else 64, promised=found.kind == "bitwise")

    def _pair(self) -> tuple[Pair, LinearKind | None]:
        """The largest pair that fits, its target in the most bits that fit (None: bfloat16)."""
        if self._tiny:
            return TINY, None
        total = torch.cuda.get_device_properties(self._device).total_memory - _WORKSPACE
        for pair in PAIRS:
            for kind in (None, *self._kinds):
                bits = 16 if kind is None else kind.bits
                if 2 * pair.draft.num_parameters + pair.target.num_parameters * bits / 8 <= total:
                    return pair, kind
        raise RuntimeError(f"no pair fits {total / 1e9:.0f} GB")
