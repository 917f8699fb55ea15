from types import SimpleNamespace

import pytest
import torch

from decoder.torch_engine.attention import BLOCKED, GROUPED, blocked_attention, choose_attention, grouped_attention
from decoder.torch_engine.masks import Masks, UnsupportedModelError
from tests.decoder.torch_engine.tiny import network


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(32, 8), (64, 8), (4, 4), (6, 1)])
def test_grouped_attention_is_attention_with_every_key_head_repeated(num_heads: int, num_kv_heads: int) -> None:
    make = torch.Generator().manual_seed(0)
    query = torch.randn(1, num_heads, 5, 16, generator=make)
    key, value = (torch.randn(1, num_kv_heads, 12, 16, generator=make) for _ in range(2))
    mask = torch.zeros(1, 1, 5, 12).masked_fill(torch.rand(5, 12, generator=make) < 0.3, float("-inf"))
    repeat = num_heads // num_kv_heads
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key.repeat_interleave(repeat, 1), value.repeat_interleave(repeat, 1), attn_mask=mask, scale=0.3
    )
    output, _ = grouped_attention(None, query, key, value, mask, scaling=0.3)
    assert torch.allclose(output.transpose(1, 2), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_blocked_attention_gives_a_row_the_same_bits_in_every_block(dtype: torch.dtype) -> None:
    make = torch.Generator().manual_seed(0)
    query = torch.randn(1, 8, 256, 16, generator=make).to(dtype)
    key, value = (torch.randn(1, 2, 300, 16, generator=make).to(dtype) for _ in range(2))
    mask = torch.zeros(1, 1, 256, 300, dtype=dtype).masked_fill(torch.rand(256, 300, generator=make) < 0.3, -1e30)
    everything, _ = blocked_attention(None, query, key, value, mask, scaling=0.3)
    assert torch.allclose(everything, grouped_attention(None, query, key, value, mask, scaling=0.3)[0], atol=1e-2)
    for start, rows in ((0, 1), (3, 8), (40, 16), (200, 32), (64, 128)):
        part = slice(start, start + rows)
        some, _ = blocked_attention(None, query[:, :, part], key, value, mask[:, :, part], scaling=0.3)
        assert torch.equal(some, everything[:, part])


@pytest.mark.parametrize(("blocked", "ours"), [(False, GROUPED), (True, BLOCKED)])
def test_attention_that_is_more_than_a_softmax_stays_the_librarys(blocked: bool, ours: str) -> None:
    for kind, expected in (("Llama", ours), ("Qwen2", ours), ("Gemma2", "eager")):
        model = network(kind=kind)
        choose_attention(model, blocked=blocked)
        assert model.config._attn_implementation == expected


def seen(masks: Masks, positions: list[int], num_keys: int) -> list[str]:
    mask = masks(torch.tensor(positions), num_keys, torch.bfloat16)
    assert mask.shape == (1, 1, len(positions), num_keys)
    return ["".join("x" if key == 0 else "." for key in row) for row in mask[0, 0].tolist()]


def test_a_row_sees_itself_and_what_is_before_it() -> None:
    masks = Masks(SimpleNamespace())
    assert seen(masks, [2, 3, 4], 8) == ["xxx.....", "xxxx....", "xxxxx..."]


def test_padding_beyond_the_keys_sees_something() -> None:
    # A row that saw nothing would divide by zero.
    assert seen(Masks(SimpleNamespace()), [7, 8, 9], 8) == ["xxxxxxxx"] * 3


def test_a_window_ends_what_is_seen() -> None:
    masks = Masks(SimpleNamespace(sliding_window=3))
    assert seen(masks, [1, 4, 5], 8) == ["xx......", "..xxx...", "...xxx.."]


def test_layers_of_two_kinds_get_two_masks() -> None:
    kinds = ["full_attention", "sliding_attention"]
    masks = Masks(SimpleNamespace(sliding_window=2, layer_types=kinds))(torch.tensor([5]), 8, torch.float32)
    assert sorted(masks) == kinds
    assert int((masks["full_attention"] == 0).sum()) == 6
    assert int((masks["sliding_attention"] == 0).sum()) == 2


def test_layers_that_cannot_forget_are_refused() -> None:
    config = SimpleNamespace(model_type="mamba", layer_types=["full_attention", "linear_attention"])
    with pytest.raises(UnsupportedModelError, match="mamba has layers of kind linear_attention"):
        Masks(config)
