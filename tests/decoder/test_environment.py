"""What models run in, as the process itself and a child of it see it."""

import os
import subprocess
import sys

import pytest

from decoder.environment import child_environment, set_environment


def test_a_child_gets_everything_and_what_a_person_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.setenv("SOMETHING", "else")
    found = child_environment()
    assert (found["OMP_WAIT_POLICY"], found["SOMETHING"]) == ("PASSIVE", "else")
    if sys.platform == "linux":
        assert found["GLIBC_TUNABLES"] == "glibc.malloc.hugetlb=1"
    monkeypatch.setenv("GLIBC_TUNABLES", "")
    assert child_environment()["GLIBC_TUNABLES"] == ""


def test_this_process_gets_what_still_has_an_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE", "GLIBC_TUNABLES"):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    set_environment()
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert "GLIBC_TUNABLES" not in os.environ, "the C library has read it; bench would tell of huge pages that are none"


@pytest.mark.parametrize("module", ["decoder.complete_command", "decoder.bench.command", "decoder.decoder_command"])
def test_commands_that_load_a_model_can_still_set_it(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "openvino"}.intersection(output.split())
