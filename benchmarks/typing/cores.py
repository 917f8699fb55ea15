"""What the system tells of a process and the cores: how long it ran, and how long it waited for one. Linux only."""

import os
from collections.abc import Iterable
from pathlib import Path


def ran(process: int) -> float:
    """Seconds of processor time so far; 0.0 where the system does not tell."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def waited(processes: Iterable[int]) -> float:
    """Seconds that all their threads were ready to run while other work had the cores; 0.0 where nothing tells."""
    threads = (thread for process in processes for thread in Path(f"/proc/{process}/task").glob("*/schedstat"))
    return sum(int(thread.read_text(encoding="ascii").split()[1]) for thread in threads) / 1e9
