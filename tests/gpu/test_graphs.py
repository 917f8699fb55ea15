"""What only a CUDA device can show of the engine: captured passes. Tiny models; needs torch and transformers alone."""

from typing import Any

import numpy as np
import pytest
import torch

from decoder.torch_engine.graphs import CudaGraphRecorder
from decoder.torch_engine.memory import DeviceMemoryError
from tests.decoder.torch_engine.tiny import JOURNEY, TEXT, fixed, network, walk

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]
CUDA = torch.device("cuda", 0)


class AsTheyCome:
    """Records nothing."""

    def record(self, run: Any) -> Any:
        return run


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_replayed_graphs_give_the_bits_of_launched_kernels(dtype: torch.dtype) -> None:
    replayed = fixed(network(dtype=dtype).to(CUDA), min_rows=8)
    launched = fixed(network(dtype=dtype).to(CUDA), min_rows=8, recorder=AsTheyCome())
    assert all(np.array_equal(one, other) for one, other in zip(walk(replayed), walk(launched), strict=True))


def test_two_models_on_one_device_do_not_disturb_each_other() -> None:
    alone = walk(fixed(network(1).to(CUDA), min_rows=8))
    target, draft = fixed(network(1).to(CUDA), min_rows=8), fixed(network(2).to(CUDA), min_rows=1)
    rows, length = [], 0
    for step, back in JOURNEY:
        draft.extend(TEXT[:1])
        rows.append(target.extend(TEXT[length : length + step], last=min(step, 16)))
        draft.extend(TEXT[1:6])
        draft.rewind(0)
        length += step - back
        target.rewind(length)
    assert all(np.array_equal(one, other.cpu()) for one, other in zip(alone, rows, strict=True))


def test_a_pass_that_waits_for_the_device_is_run_as_it_is_and_the_next_is_captured() -> None:
    recorder, numbers = CudaGraphRecorder(CUDA), torch.ones(4, device=CUDA)

    def reads_back() -> torch.Tensor:
        return numbers * float(numbers.sum())

    assert recorder.record(reads_back) is reads_back
    replay = recorder.record(lambda: numbers + 1)
    numbers.mul_(2)
    assert replay().tolist() == [3.0] * 4
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_running_out_of_memory_in_a_text_leaves_the_text() -> None:
    model = fixed(network().to(CUDA), context_length=4000, min_rows=8)
    model.extend(TEXT[:40])
    expected = model.extend(TEXT[40:48]).cpu()
    model.rewind(40)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1e-6, CUDA)
    try:
        with pytest.raises(DeviceMemoryError, match=r"cuda:0 has no memory left .* GB in all"):
            model.extend(TEXT[48:300], last=0)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, CUDA)
    assert torch.equal(model.extend(TEXT[40:48]).cpu(), expected)


def test_a_drafted_row_arrives_where_the_target_has_its_own() -> None:
    last = torch.device("cuda", torch.cuda.device_count() - 1)
    target, draft = fixed(network(1).to(CUDA), min_rows=8), fixed(network(2).to(last), min_rows=1)
    target.extend(TEXT[:3])
    rows = [draft.extend([token])[-1] for token in TEXT[:20]]
    received = [target.receive(row) for row in rows]
    assert all(row.device == CUDA for row in received)
    assert all(torch.equal(one.cpu(), other.cpu()) for one, other in zip(received, rows, strict=True))
