import logging
from types import SimpleNamespace

import pytest
import torch

from decoder.torch_engine.graphs import CudaGraphRecorder, Program, captured, recorder_for
from tests.decoder.torch_engine.tiny import network

CUDA = torch.device("cuda", 0)


def run() -> torch.Tensor:
    return torch.ones(1)


def test_what_can_be_captured_is_replayed() -> None:
    def replay() -> torch.Tensor:
        return torch.zeros(1)

    assert captured(lambda _: replay, run) is replay


def test_what_cannot_be_captured_is_run_as_it_is_and_said(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Program) -> Program:
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    with caplog.at_level(logging.WARNING):
        assert captured(fail, run) is run
    assert caplog.messages == [
        "no CUDA graph, every kernel is launched by itself: operation not permitted when stream is capturing"
    ]


def test_running_out_of_memory_is_no_reason_to_go_on_without_graphs() -> None:
    def fail(_: Program) -> Program:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(torch.OutOfMemoryError):
        captured(fail, run)


def test_a_model_on_one_cuda_device_is_recorded() -> None:
    assert isinstance(recorder_for(network(), CUDA), CudaGraphRecorder)
    assert recorder_for(network(), torch.device("cpu")) is None


def test_a_model_on_several_devices_is_not_recorded() -> None:
    model = network()
    model.lm_head.to("meta")
    assert recorder_for(model, CUDA) is None


@pytest.mark.parametrize(
    ("rope", "recorded"), [("default", True), ("llama3", True), ("dynamic", False), ("longrope", False)]
)
def test_positions_that_are_read_back_cannot_be_recorded(rope: str, recorded: bool) -> None:
    config = SimpleNamespace(rope_parameters={"rope_type": rope})
    model = SimpleNamespace(config=config, parameters=lambda: [torch.zeros(1)])
    assert (recorder_for(model, CUDA) is not None) == recorded
