"""What a process holds in memory, as the system tells it."""

import os
from pathlib import Path


def resident_bytes(pid: int | None = None) -> int:
    """Of this process unless another is named; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
