"""What happens when memory runs out: what is given up, what is said, and that nothing else is lost."""

from collections.abc import Iterator

import torch

from benchmarks.gpu_check.findings import Finding
from benchmarks.gpu_check.pairs import ModelSize
from benchmarks.gpu_check.random_model import engine, random_network
from benchmarks.gpu_check.steps import random_tokens
from decoder.torch_engine.device_memory import naming_memory
from decoder.torch_engine.memory import Demand, DeviceMemoryError, settle
from decoder.torch_model import TorchModel

_WORKSPACE = 1_200_000_000
"""Bytes for activations over the longest context, and for graphs."""


class Cap:
    """Lets this process have only so much more memory; on a CPU, which has no such limit, by arithmetic."""

    def __init__(self, device: torch.device, num_bytes: int) -> None:
        self._device = device
        self._left = num_bytes
        if device.type == "cuda":
            torch.cuda.empty_cache()
            self.set(torch.cuda.memory_reserved(device) + num_bytes)

    def set(self, num_bytes: int) -> None:
        """The most that may be held from now on, on CUDA."""
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
            total = torch.cuda.get_device_properties(self._device).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, num_bytes / total), self._device)

    def check(self, num_bytes: int) -> None:
        """Raises MemoryError on a CPU where an allocator would on CUDA."""
        if self._device.type == "cpu" and num_bytes > self._left:
            raise MemoryError(f"{num_bytes} bytes asked for, {self._left} left")

    def lift(self) -> None:
        """No limit again."""
        if self._device.type == "cuda":
            torch.cuda.set_per_process_memory_fraction(1.0, self._device)


def degradation(size: ModelSize, device: torch.device) -> Iterator[Finding]:
    """A target, a draft model as large and the longest context, with room for one model and a third of the context."""
    weights = 2 * size.num_parameters
    per_token = 4 * size.layers * size.kv_heads * size.hidden // size.heads
    workspace = _WORKSPACE if device.type == "cuda" else 0
    cap = Cap(device, weights + size.window * per_token // 3 + workspace)

    def load(demand: Demand) -> TorchModel:
        with naming_memory(device, f"{size.name} with {demand.context_tokens} tokens"):
            cap.check(weights * (2 if demand.draft_model else 1) + demand.context_tokens * per_token)
            networks = [random_network(size, device) for _ in range(2 if demand.draft_model else 1)]
            model = engine(networks[0], size, context_length=demand.context_tokens)
            model.warm_up()
        return model

    said: list[str] = []
    try:
        model, fits = settle(load, Demand(size.window, "draft"), least_context=256, say=said.append)
        for number, sentence in enumerate(said, start=1):
            yield Finding(f"out of memory, step {number}", "said", "", sentence)
        yield Finding("  what fits", fits.context_tokens, "tokens", ok=bool(said))
        yield from _in_use(model, cap, device)
    finally:
        cap.lift()


def _in_use(model: TorchModel, cap: Cap, device: torch.device) -> Iterator[Finding]:
    """An allocation that fails in the middle of a text leaves the text as it was."""
    if device.type != "cuda":
        return
    tokens = random_tokens(model.vocabulary.size, 64)
    model.extend(tokens[:32])
    before = model.extend(tokens[32:40])
    model.rewind(32)
    cap.set(0)
    try:
        model.extend(random_tokens(model.vocabulary.size, 200), last=0)  # a shape that was not recorded yet
        raised = "no error: there was room left"
    except DeviceMemoryError as error:
        raised = str(error)
    cap.lift()
    model.rewind(32)
    unchanged = bool(torch.equal(before, model.extend(tokens[32:40])))
    yield Finding("out of memory within a text", "text kept" if unchanged else "text lost", "", raised, ok=unchanged)
