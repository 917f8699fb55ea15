"""Fixed blocks on the CPU: what is recorded once and replayed gives what is run afresh, bit for bit."""

from typing import Any

import numpy as np
import pytest
import torch

from decoder.torch_engine.shapes import PREFILL_ROWS, SPARE_ROWS
from tests.decoder.torch_engine.tape import TapeRecorder
from tests.decoder.torch_engine.tiny import TEXT, fixed, free, network, walk

pytestmark = pytest.mark.usefixtures("one_thread")
FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("Llama", {}),
    ("Mistral", {"sliding_window": 8}),
    ("Starcoder2", {"sliding_window": 8}),
    ("Qwen2", {}),
    ("Qwen2", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
    ("Qwen3", {"head_dim": 8}),
    ("Gemma2", {"sliding_window": 8, "head_dim": 8}),
]
"""Full attention, sliding, both by turns; heads wider than they are many; scores that are capped (not ours)."""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("kind", "changes"), FAMILIES)
def test_replayed_passes_give_the_bits_of_passes_run_afresh(
    kind: str, changes: dict[str, Any], dtype: torch.dtype
) -> None:
    recorder = TapeRecorder()
    replayed = fixed(network(kind=kind, dtype=dtype, **changes), recorder=recorder, min_rows=8)
    afresh = fixed(network(kind=kind, dtype=dtype, **changes), min_rows=8)
    for one, other in zip(walk(replayed), walk(afresh), strict=True):
        assert np.isfinite(other).all()
        assert np.array_equal(one, other)
    assert recorder.num_tapes < recorder.num_replays


@pytest.mark.parametrize(("kind", "changes"), FAMILIES)
def test_fixed_passes_mean_what_the_library_means(kind: str, changes: dict[str, Any]) -> None:
    ours, theirs = fixed(network(kind=kind, **changes), min_rows=8), network(kind=kind, **changes)
    theirs.set_attn_implementation("eager")  # fused kernels leave out what some families do to scores
    with torch.inference_mode():
        expected = theirs(torch.tensor([TEXT[:300]]), use_cache=False).logits[0, -50:].numpy()
    ours.extend(TEXT[:250], last=0)
    rows = np.concatenate([ours.extend(TEXT[250 + at : 260 + at]) for at in range(0, 50, 10)])
    assert np.allclose(rows, expected, atol=1e-4)


@pytest.mark.parametrize("min_rows", [1, 8, 16])
def test_padding_is_never_seen(min_rows: int) -> None:
    """Whatever lies beyond what is held is hidden, then overwritten."""
    clean, dirty = fixed(network(), min_rows=min_rows), fixed(network(), min_rows=min_rows)
    dirty.extend(TEXT[100:400])
    dirty.rewind(1)
    dirty.rewind(0)
    with torch.inference_mode():
        for layer in dirty._forward.held.layers:
            layer.keys.fill_(7.0)
            layer.values.fill_(-1000.0)
    for start, end in ((0, 40), (40, 41), (41, 46), (46, 300)):
        assert np.array_equal(clean.extend(TEXT[start:end]), dirty.extend(TEXT[start:end]))


def test_a_text_that_begins_anew_is_not_poisoned_by_numbers_without_meaning() -> None:
    # Weight 0 times NaN is NaN: fixed passes multiply by everything in the cache.
    fresh, poisoned = fixed(network(), min_rows=8), fixed(network(), min_rows=8)
    poisoned.extend(TEXT[:100])
    with torch.inference_mode():
        for layer in poisoned._forward.held.layers:
            layer.values[:, :, 50:60] = float("nan")
    poisoned.rewind(0)
    assert np.array_equal(poisoned.extend(TEXT[:20]), fresh.extend(TEXT[:20]))


def test_every_row_size_and_key_length_is_recorded_once() -> None:
    recorder = TapeRecorder()
    model = fixed(network(), recorder=recorder, min_rows=8)
    model.warm_up()
    assert recorder.num_tapes == 9  # 8, 16 and 32 rows on 256, 512 and 600 keys
    for start in range(0, 590, 7):
        model.extend(TEXT[start : start + 7])
    assert recorder.num_tapes == 9
    model.min_rows = 1  # a draft step
    model.rewind(10)
    model.extend([1])
    assert recorder.num_tapes == 10
    model.rewind(0)
    model.extend(TEXT[:PREFILL_ROWS], last=0)
    assert recorder.num_tapes == 11


def test_warming_up_leaves_nothing_behind() -> None:
    warm, cold = fixed(network(), recorder=TapeRecorder(), min_rows=8), fixed(network(), min_rows=8)
    warm.warm_up()
    assert warm._forward.held.num_bytes == 2 * 2 * (600 + SPARE_ROWS) * 16 * 4  # layers, keys and values, slots, floats
    assert np.array_equal(warm.extend(TEXT[:300], last=9), cold.extend(TEXT[:300], last=9))


def test_rows_are_the_callers_to_keep() -> None:
    model = fixed(network(), recorder=TapeRecorder(), min_rows=8)
    model.extend(TEXT[:8])
    rows = model.extend(TEXT[8:16])
    before = rows.copy()
    model.extend(TEXT[16:24])
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("build", [fixed, free])
def test_one_block_size_gives_the_same_tokens_as_any(build: Any) -> None:
    any_size, one_size = build(network()), build(network())
    one_size.min_rows = one_size.max_rows = 16
    assert all(np.allclose(one, other, atol=1e-4) for one, other in zip(walk(any_size), walk(one_size), strict=True))


def test_a_recorder_that_must_read_numbers_back_is_refused_on_the_tape() -> None:
    """The stand-in forbids what a capture forbids."""
    position = torch.tensor(3)
    with pytest.raises(RuntimeError, match="cannot be captured"):
        TapeRecorder().record(lambda: torch.ones(int(position)))
