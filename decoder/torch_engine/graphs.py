"""CUDA graphs behind one method: what ran once is recorded, and replayed on the same memory."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

Program = Callable[[], torch.Tensor]
"""Reads its inputs from memory that stays where it is; its result is overwritten by the next call."""

_MOVING_ROPE = ("dynamic", "longrope")
_log = logging.getLogger(__name__)


class Recorder(Protocol):
    """Turns a function of fixed shapes into one that is cheaper to call."""

    def record(self, run: Program) -> Program:
        """A program that computes what `run` does. `run` may be called any number of times meanwhile."""
        ...


class CudaGraphRecorder:
    """Captures CUDA graphs on one device; all share one memory pool, since never two of them run at a time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream: torch.cuda.Stream | None = None
        self._pool: Any = None
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._broken = False

    def record(self, run: Program) -> Program:
        """As `Recorder.record`; where `run` does what cannot be captured, `run` itself, with a line in the log."""
        if self._broken:
            return run
        current = torch.cuda.current_stream(self._device)
        with torch.cuda.device(self._device), torch.cuda.stream(current):  # left as found, also by a failed capture
            return captured(self._capture, run)

    def _capture(self, run: Program) -> Program:
        if self._stream is None:
            self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
            self._pool = torch.cuda.graph_pool_handle()
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):  # libraries choose kernels and take workspaces before the capture
            run()
            with _waiting_forbidden():
                run()
        current.wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        self._graphs.append(graph)  # also one that fails: the allocator goes on asking it
        self._broken = True
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            output = run()
        self._broken = False

        def replay() -> torch.Tensor:
            graph.replay()
            return output

        return replay


def captured(capture: Callable[[Program], Program], run: Program) -> Program:
    """What `capture` makes of `run`; `run` where it fails for any reason but memory."""
    try:
        return capture(run)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        _log.warning("no CUDA graph, every kernel is launched by itself: %s", str(error).partition("\n")[0])
        return run


def recorder_for(model: Any, device: torch.device) -> Recorder | None:
    """How the passes of a transformers model on `device` are recorded; None where they are launched as they come."""
    spread = len({parameter.device for parameter in model.parameters()}) > 1
    rope = getattr(model.config, "rope_parameters", None) or {}
    moving = any(kind in str(rope.get("rope_type")) for kind in _MOVING_ROPE)  # decided by reading positions back
    return CudaGraphRecorder(device) if device.type == "cuda" and not spread and not moving else None


@contextmanager
def _waiting_forbidden() -> Iterator[None]:
    """What waits for the device raises RuntimeError: found here, before a capture that it would leave half done."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
