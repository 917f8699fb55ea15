"""Bytes of one model against figures worked out by hand."""

import pytest

from decoder.plan.devices import GIB
from decoder.plan.footprint import Footprint
from decoder.plan.known_shapes import KNOWN_SHAPES
from decoder.plan.precision import Precision, matrix_bytes

LLAMA_70B_PARAMETERS = 70_553_706_496
LLAMA_70B_TABLES = 2 * 128256 * 8192  # embedding and head stay in 16 bits


@pytest.mark.parametrize(
    ("precision", "by_hand"),
    [
        ("float32", 4 * LLAMA_70B_PARAMETERS),
        ("bfloat16", 2 * LLAMA_70B_PARAMETERS),
        ("int8", LLAMA_70B_PARAMETERS + LLAMA_70B_TABLES),
        ("float8", LLAMA_70B_PARAMETERS + LLAMA_70B_TABLES),
        ("int4", (LLAMA_70B_PARAMETERS - LLAMA_70B_TABLES) * (0.5 + 4 / 128) + 2 * LLAMA_70B_TABLES),
    ],
)
def test_weights_follow_from_the_parameters(precision: Precision, by_hand: float) -> None:
    assert Footprint(KNOWN_SHAPES["llama3-70b"], precision).weights_bytes == pytest.approx(by_hand, rel=0.03)


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("llama3-70b", 2 * 80 * 8 * 128 * 2),  # 320 KiB
        ("llama3-8b", 2 * 32 * 8 * 128 * 2),
        ("codellama-7b", 2 * 32 * 32 * 128 * 2),  # no heads share keys: four times Llama 3's
        ("smollm2-135m", 2 * 30 * 3 * 64 * 2),
    ],
)
def test_keys_and_values_of_a_token(name: str, by_hand: int) -> None:
    model = Footprint(KNOWN_SHAPES[name], "bfloat16")
    assert model.kv_token_bytes == by_hand
    assert model.kv_bytes(2048) == 2048 * by_hand
    assert Footprint(KNOWN_SHAPES[name], "int4").kv_token_bytes == by_hand  # only weights are quantised
    assert Footprint(KNOWN_SHAPES[name], "float32").kv_token_bytes == 2 * by_hand


def test_a_context_beyond_the_models_window_is_not_paid_for() -> None:
    model = Footprint(KNOWN_SHAPES["llama3-8b"], "bfloat16")
    assert model.kv_bytes(100_000) == model.kv_bytes(8192)
    assert model.workspace_bytes(100_000, graphs=True) == model.workspace_bytes(8192, graphs=True)


def test_scales_cost_four_bytes_a_row_or_a_group() -> None:
    assert matrix_bytes(1000, 4096, "int8") == 1000 * (4096 + 4)
    assert matrix_bytes(1000, 4096, "int4") == 1000 * (2048 + 4 * 32)
    assert matrix_bytes(1000, 4096, "int4", group=64) == 1000 * (2048 + 4 * 64)
    assert matrix_bytes(3, 130, "int4") == 195 + 3 * 4 * 2  # the last group is not full


def test_a_tied_head_is_stored_once_and_read_all_the_same() -> None:
    model = Footprint(KNOWN_SHAPES["qwen2.5-coder-0.5b"], "bfloat16")
    assert model.weights_bytes == 2 * 494_032_768
    assert model.read_last_bytes > model.embedding_bytes > model.head_bytes


def test_the_parts_of_a_model_are_the_whole() -> None:
    for shape in KNOWN_SHAPES.values():
        model = Footprint(shape, "bfloat16")
        assert model.weights_bytes == 2 * shape.parameters


def test_computing_takes_about_a_gib_at_the_usual_context() -> None:
    exact, quantised = (Footprint(KNOWN_SHAPES["llama3-70b"], precision) for precision in ("bfloat16", "int8"))
    assert 0.3 * GIB < exact.workspace_bytes(2048, graphs=False) < 0.6 * GIB
    unpacked = 2 * 8192 * 28672  # a matrix for its product, once outside of the graphs and once inside
    difference = quantised.workspace_bytes(2048, graphs=True) - exact.workspace_bytes(2048, graphs=True)
    assert difference == 2 * unpacked
