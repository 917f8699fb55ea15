"""`make gpu-check` on the CPU, with tiny shapes and without anything of ours installed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks.gpu_check.findings import Finding, table
from benchmarks.gpu_check.linears import Trial, usable
from benchmarks.gpu_check.loop import LOOKUP, MODEL
from benchmarks.gpu_check.pairs import LLAMA3_8B, LLAMA3_70B
from benchmarks.gpu_check.random_model import random_network, read_bytes
from benchmarks.gpu_check.weight_only import Float8Linear, Int4Linear, Int8Linear

ROOT = Path(__file__).resolve().parent.parent.parent
ABSENT = ("array_api_compat", "cattrs", "gguf", "lsprotocol", "msgpack", "openvino", "platformdirs", "pygls")
"""What a GPU machine does not have, as far as transformers itself does without."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("out")
    blocked = f"import sys; sys.modules.update(dict.fromkeys({ABSENT!r}))"
    code = f"{blocked}; from benchmarks.gpu_check.__main__ import main; sys.exit(main(['--tiny']))"
    environment = os.environ | {"OUT": str(out), "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "all checks" in run.stdout
    found: dict[str, Any] = json.loads((out / "gpu_check.json").read_text(encoding="utf-8"))
    return found


def test_every_check_runs_and_keeps_its_promise(report: dict[str, Any]) -> None:
    assert report["ok"]
    assert not [found for found in report["findings"] if found["value"] == "failed"]
    assert set(report["machine"]) == {"device", "python", "torch", "transformers", "numpy"}


@pytest.mark.parametrize(
    "name",
    [
        "copy bandwidth",
        "draft step, tiny-draft",
        "prefill of 256 tokens, tiny-draft",
        "graph gain, 16 rows, tiny-target",
        "bits, tiny-target",
        "texts equal the undrafted one, tiny-target",
        "decoding, plain",
        "decoding, lookup",
        "decoding, draft model",
        "out of memory, step 1",
        *(f"C({rows}), tiny-target" for rows in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)),
    ],
)
def test_everything_asked_for_is_measured(report: dict[str, Any], name: str) -> None:
    assert [found["value"] for found in report["findings"] if found["name"] == name]


def test_real_sizes_are_those_of_the_real_models() -> None:
    assert (LLAMA3_8B.num_parameters, LLAMA3_70B.num_parameters) == (8_030_261_248, 70_553_706_496)


@pytest.mark.parametrize("kind", [Float8Linear, Int8Linear])
def test_stand_ins_compute_what_a_linear_layer_does(kind: type[Float8Linear] | type[Int8Linear]) -> None:
    make = torch.Generator().manual_seed(0)
    weight = torch.randn(96, 64, generator=make).bfloat16() / 8
    rows = torch.randn(3, 64, generator=make).bfloat16()
    expected = rows.float() @ weight.float().t()
    assert torch.linalg.norm(kind(weight)(rows).float() - expected) < 0.1 * torch.linalg.norm(expected)


def test_the_four_bit_kernel_takes_what_it_is_given() -> None:
    """It runs on CUDA alone; its own description tells which shapes and types it takes."""
    with FakeTensorMode():
        layer = Int4Linear(torch.empty(256, 1024, dtype=torch.bfloat16))
        assert layer(torch.empty(1, 16, 1024, dtype=torch.bfloat16)).shape == (1, 16, 256)
        assert sum(tensor.nbytes for tensor in layer.buffers()) == 256 * 1024 // 2 + 256 * 1024 // 128 * 4


def test_the_target_takes_the_most_bits_and_then_the_fastest() -> None:
    found = [
        Trial(Int4Linear, 1.0),
        Trial(Int8Linear, 3.0),
        Trial(Float8Linear, 2.0),
        Trial(Int8Linear, 0.1, fault="no"),
    ]
    assert usable(found) == [Float8Linear, Int8Linear, Int4Linear]


def test_a_quantised_network_reads_fewer_bytes() -> None:
    from benchmarks.gpu_check.pairs import TINY_TARGET

    cpu = torch.device("cpu")
    plain, quantised = (read_bytes(random_network(TINY_TARGET, cpu, kind)) for kind in (None, Int8Linear))
    head = 2 * TINY_TARGET.vocabulary * TINY_TARGET.hidden
    assert 0.5 <= (quantised - head) / (plain - head) < 0.55


def test_scripts_accept_as_published() -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    model = [MODEL.accepted(rng) for _ in range(4000)]
    lookup = [LOOKUP.accepted(rng) for _ in range(4000)]
    assert np.mean([count >= 1 for count in model]) == pytest.approx(0.75, abs=0.03)
    assert 1 + np.mean(model) == pytest.approx((1 - 0.75**6) / (1 - 0.75), abs=0.1)
    assert np.mean([count >= 5 for count in lookup]) == pytest.approx(0.65 * 0.94**4, abs=0.03)


def test_a_broken_promise_is_marked() -> None:
    lines = table([Finding("speed", 12.345, "ms"), Finding("bits", "others", ok=False)]).splitlines()
    assert lines == ["  speed   12.35 ms", "! bits   others"]
