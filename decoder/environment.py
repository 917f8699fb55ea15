"""The variables under which models run fast, also beside other work: for a decoder that is started, or this process."""

import os
import sys

_BEFORE_THE_START: dict[str, str] = {}
_BEFORE_IMPORTS = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that spin while they wait are a little faster alone and many times slower beside other work."""
if sys.platform == "linux":  # huge pages where the system offers them on request (madvise): the C library's and torch's
    _BEFORE_THE_START["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    _BEFORE_IMPORTS["THP_MEM_ALLOC_ENABLE"] = "1"


def child_environment() -> dict[str, str]:
    """Ours with all of them; what a person has set stays."""
    return _BEFORE_THE_START | _BEFORE_IMPORTS | os.environ


def set_environment() -> None:
    """Sets what still works in this process, before it imports torch or OpenVINO; what a person has set stays."""
    for name, value in _BEFORE_IMPORTS.items():
        os.environ.setdefault(name, value)
