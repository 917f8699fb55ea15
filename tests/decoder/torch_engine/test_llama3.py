"""Llama-3's exact layout: tiny weights on the CPU, real shapes without any memory (the `meta` device)."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from benchmarks.gpu_check.pairs import LLAMA3_8B, LLAMA3_70B, ModelSize
from decoder.torch_engine.forward import StaticForward
from decoder.torch_engine.shapes import SPARE_ROWS, Shape
from decoder.torch_model import TorchModel
from tests.decoder.torch_engine.tape import TapeRecorder
from tests.decoder.torch_engine.tiny import fixed, network

pytestmark = pytest.mark.usefixtures("one_thread")
ENDS = [128_001, 128_009]
LAYOUT: dict[str, Any] = {
    "vocab_size": 128_256,
    "hidden_size": 64,
    "head_dim": 8,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0},
    "eos_token_id": ENDS,
    "bos_token_id": 128_000,
    "num_hidden_layers": 1,
}


def llama3(num_heads: int, recorder: TapeRecorder | None = None) -> TorchModel:
    model = network(num_attention_heads=num_heads, num_key_value_heads=8, dtype=torch.bfloat16, **LAYOUT)
    return fixed(model, recorder=recorder, min_rows=8)


@pytest.mark.parametrize("num_heads", [32, 64])
def test_its_heads_vocabulary_and_rope_work_in_fixed_blocks(num_heads: int) -> None:
    text = [int(token) for token in np.random.default_rng(0).integers(0, 128_256, 60)]
    model = llama3(num_heads, TapeRecorder())
    together = model.extend(text, last=20)
    assert together.shape == (20, 128_256)
    assert together.dtype == np.float32
    model.rewind(40)
    assert np.array_equal(model.extend(text[40:57])[-1], llama3(num_heads).extend(text[:57], last=1)[0])
    assert np.argmax(model.extend(text[57:])[-1]) == np.argmax(together[-1])


@pytest.mark.parametrize("token", ENDS)
def test_both_of_its_ends_of_text_can_be_read_and_written(token: int) -> None:
    assert llama3(32).extend([128_000, token]).shape == (2, 128_256)


@pytest.mark.parametrize(
    ("size", "num_parameters", "bytes_per_token"),
    [(LLAMA3_8B, 8_030_261_248, 131_072), (LLAMA3_70B, 70_553_706_496, 327_680)],
)
def test_real_shapes_run_without_memory(size: ModelSize, num_parameters: int, bytes_per_token: int) -> None:
    slots = 2048 + SPARE_ROWS
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(size.config()).to(torch.bfloat16).eval()
    assert sum(parameter.numel() for parameter in model.parameters()) == num_parameters == size.num_parameters
    forward = StaticForward(model, slots, recorder=None)
    for shape in (Shape(1, 1024, 1), Shape(16, 2048, 16), Shape(256, 2048, 1)):
        assert forward([1], 600, shape).shape == (shape.logits, 128_256)
    assert forward.held.num_bytes == bytes_per_token * slots
