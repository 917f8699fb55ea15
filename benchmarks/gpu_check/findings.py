"""What was measured: one table for people, one JSON for everything else."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table. value: a figure, or words where there is none to give. ok: False where a promise broke."""

    name: str
    value: float | str
    unit: str = ""
    note: str = ""
    ok: bool = True


def table(findings: Sequence[Finding]) -> str:
    """Columns of equal width; a broken promise is marked."""
    rows = [(found.name, _figure(found.value), found.unit, found.note) for found in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = []
    for found, (name, value, unit, note) in zip(findings, rows, strict=True):
        mark = " " if found.ok else "!"
        lines.append(f"{mark} {name:<{widths[0]}}  {value:>{widths[1]}} {unit:<{widths[2]}}  {note}".rstrip())
    return "\n".join(lines)


def as_json(machine: dict[str, str], findings: Sequence[Finding], seconds: float) -> str:
    """`machine`, `seconds`, `ok` and the list of `findings`."""
    content: dict[str, Any] = {
        "machine": machine,
        "seconds": round(seconds, 1),
        "ok": all(found.ok for found in findings),
        "findings": [asdict(found) for found in findings],
    }
    return json.dumps(content, indent=1)


def _figure(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.2f}"
