"""A CUDA graph's stand-in for the CPU: records operators with the tensors they ran on, and replays exactly those."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from decoder.torch_engine.graphs import Program

_HOST = {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::lift_fresh", "aten::nonzero"}


class TapeRecorder:
    """Numbers from outside of tensors are frozen at the recording, and results are overwritten by the next replay.

    What a capture forbids raises: reading a number back from a tensor, or making a tensor from host memory.
    """

    def __init__(self) -> None:
        self.num_tapes = 0
        self.num_replays = 0

    def record(self, run: Program) -> Program:
        self.num_tapes += 1
        for _ in range(2):  # warm-ups may change nothing that a replay needs
            run()
        with _Recording() as tape:
            output = run()
        for tensor in tape.results:  # a capture does not execute
            if tensor.is_floating_point():
                tensor.fill_(float("nan"))

        def replay() -> torch.Tensor:
            self.num_replays += 1
            for step in tape.steps:
                step()
            return output

        return replay


class _Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[Callable[[], None]] = []
        self.results: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.name().split(".")[0] in _HOST:
            raise RuntimeError(f"{func.name()} cannot be captured")
        result = func(*args, **kwargs)
        given = {_memory(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor) and _memory(leaf) not in given]
        self.results += made

        def again() -> None:
            fresh = [leaf for leaf in tree_leaves(func(*args, **kwargs)) if isinstance(leaf, torch.Tensor)]
            for old, new in zip(made, fresh, strict=False):
                old.copy_(new)

        self.steps.append(again)
        return result


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
