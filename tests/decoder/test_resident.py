import os
from pathlib import Path

import pytest

from decoder.resident import resident_bytes

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def test_a_process_holds_some_megabytes() -> None:
    assert 1 << 20 < resident_bytes() < 1 << 40
    assert resident_bytes(os.getppid()) > 0


def test_of_a_process_that_is_not_there_nothing_is_known() -> None:
    assert resident_bytes(1 << 30) == 0
