"""`python -m benchmarks.gpu_check [--tiny]`: one table, and JSON in $OUT/gpu_check.json if OUT is set."""

import argparse
import math
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from benchmarks.gpu_check.checks import Check, Lab
from benchmarks.gpu_check.findings import Finding, as_json, table

BUDGET_S = 420.0
"""On a GPU no check begins later than this, so that the whole stays under 8 minutes."""


def main(arguments: list[str] | None = None) -> int:
    """Exit code 1 where a check failed or a promise broke, 2 where there is no CUDA device."""
    parser = argparse.ArgumentParser(prog="gpu_check", description="what a CUDA machine makes of the engine")
    parser.add_argument("--tiny", action="store_true", help="tiny shapes, on the CPU: does everything run?")
    tiny = parser.parse_args(arguments).tiny
    if not tiny and not torch.cuda.is_available():
        print("no CUDA device here; --tiny runs the same checks with tiny shapes on the CPU", file=sys.stderr)
        return 2
    started = time.perf_counter()
    device = torch.device("cpu") if tiny else torch.device("cuda", 0)
    latest = math.inf if tiny else started + BUDGET_S
    findings = [found for check in Lab(device).checks() for found in _guarded(check, latest)]
    seconds = time.perf_counter() - started
    machine = _machine(device)
    print(" | ".join(machine.values()))
    print(table([*findings, Finding("all checks", seconds, "s")]))
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "gpu_check.json").write_text(as_json(machine, findings, seconds), encoding="utf-8")
    return 0 if all(found.ok for found in findings) else 1


def _guarded(check: Check, latest: float) -> Iterator[Finding]:
    """One check that fails costs its own lines, not the others'."""
    name = check.__name__.replace("_", " ")
    if time.perf_counter() > latest:
        yield Finding(name, "left out", note="no time left")
        return
    began = time.perf_counter()
    try:
        yield from check()
    except Exception as error:
        traceback.print_exc()
        yield Finding(name, "failed", note=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}", ok=False)
    print(f"{name}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


def _machine(device: torch.device) -> dict[str, str]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    libraries = {library: f"{library} {_version(library)}" for library in ("torch", "transformers", "numpy")}
    return {"device": name, "python": f"python {platform.python_version()}", **libraries}


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "?"


if __name__ == "__main__":
    sys.exit(main())
