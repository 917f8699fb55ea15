"""Which of the quantised linear layers run on this device, how fast, and how far off."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from benchmarks.gpu_check.clock import median_ms
from benchmarks.gpu_check.weight_only import KINDS, LinearKind

_ROWS = 16
_MOST_ERROR = 0.2
"""Of 4-bit weights without calibration half of that is expected; a wrong layout gives more than 1."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One kind of layer. error: ||y - y'|| / ||y'|| against bfloat16 weights; fault: why it can't be used, or ""."""

    kind: LinearKind
    ms: float = 0.0
    error: float = 0.0
    fault: str = ""


def trials(shape: tuple[int, int], device: torch.device, repeats: int) -> list[Trial]:
    """Every kind on a random matrix [out, in], with the rows of a verify block."""
    return [_try(kind, shape, device, repeats) for kind in KINDS]


def usable(found: Sequence[Trial]) -> list[LinearKind]:
    """Those that work, more bits first, of equal bits the fastest."""
    working = [trial for trial in found if not trial.fault]
    return [trial.kind for trial in sorted(working, key=lambda trial: (-trial.kind.bits, trial.ms))]


def _try(kind: LinearKind, shape: tuple[int, int], device: torch.device, repeats: int) -> Trial:
    weight = torch.randn(shape, dtype=torch.bfloat16, device=device) / shape[1] ** 0.5
    rows = torch.randn(_ROWS, shape[1], dtype=torch.bfloat16, device=device)
    try:
        layer = kind(weight)
        expected = rows.float() @ weight.float().t()
        error = float(torch.linalg.norm(layer(rows).float() - expected) / torch.linalg.norm(expected))
        took = median_ms(device, lambda: layer(rows), repeats=repeats)
    except (RuntimeError, NotImplementedError, AttributeError) as fault:
        return Trial(kind, fault=str(fault).partition("\n")[0].partition(". ")[0])
    return Trial(kind, took, error, "" if error < _MOST_ERROR else f"wrong by {error:.2f}")
