"""What a plan decides: precision, placement, context; and what it refuses."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.plan.choice import choices
from decoder.plan.devices import GIB, Device, parse_devices
from decoder.plan.errors import NoRoomError
from decoder.plan.footprint import Footprint
from decoder.plan.known_shapes import KNOWN_SHAPES
from decoder.plan.pair import Pair
from decoder.plan.placement import LEAST_CONTEXT, place
from decoder.plan.plan import Plan, plan
from decoder.plan.precision import LADDERS
from decoder.plan.sentences import sentences
from decoder.torch_engine.placement import Placement

LLAMA = Pair.parse("llama3-70b")


def devices(text: str) -> tuple[Device, ...]:
    return parse_devices(text, tuple)


def planned(pair: str, text: str, context_tokens: int = 2048) -> Plan:
    return plan(Pair.parse(pair), devices(text), context_tokens)


@pytest.mark.parametrize(
    ("pair", "text", "target", "draft"),
    [
        ("llama3-70b", "h200:1", "int8", "bfloat16"),  # 131 + 15 GiB in bfloat16 are too many
        ("llama3-70b", "h200:2", "bfloat16", "bfloat16"),
        ("llama3-70b", "mi300x:1", "bfloat16", "bfloat16"),
        ("llama3-70b", "a100-80:2", "bfloat16", "bfloat16"),
        ("llama3-70b", "a100-80:1", "int8", "int4"),
        ("llama3-70b", "l40s:1", "int4", None),
        ("llama3-70b", "rtx4090:2", "int4", None),
        ("llama3-70b", "rtx4090:3", "int4", "bfloat16"),
        ("codellama-34b", "rtx4090:1", "int4", None),
        ("codellama-34b", "rtx4090:1,t4:1", "int4", "bfloat16"),
        ("starcoder2-15b", "rtx4090:1", "int8", "int8"),
        ("qwen2.5-coder-7b", "rtx3090:1", "bfloat16", "bfloat16"),
        ("smollm2-135m", "cpu:4", "float32", None),
        ("qwen2.5-coder-7b", "cpu:32", "bfloat16", "bfloat16"),
    ],
)
def test_the_best_precision_that_fits_is_recommended(pair: str, text: str, target: str, draft: str | None) -> None:
    found = planned(pair, text)
    assert (found.precision, found.draft_precision) == (target, draft)
    assert found.context_tokens == 2048


def test_the_target_takes_as_few_devices_as_hold_it_and_the_draft_one_that_is_left() -> None:
    alone = planned("llama3-70b", "h200:3")
    assert alone.target_layers == (("cuda:0", 80),)
    assert alone.draft_device == "cuda:1"
    spread = planned("llama3-70b", "a100-80:3")
    assert [device for device, _ in spread.target_layers] == ["cuda:0", "cuda:1"]
    assert spread.draft_device == "cuda:2"


def test_beside_the_draft_the_target_takes_fewer_layers() -> None:
    found = planned("llama3-70b", "a100-80:2")
    layers = dict(found.target_layers)
    assert found.draft_device == "cuda:0"
    assert layers["cuda:0"] < layers["cuda:1"]
    assert sum(layers.values()) == 80


def test_the_larger_device_comes_first_and_takes_more() -> None:
    found = planned("llama3-70b+none", "rtx4090:1,a100-40:1")
    (first, most), (second, least) = found.target_layers
    assert (first, second) == ("cuda:1", "cuda:0")
    assert most > least > 0


def test_what_others_hold_is_not_planned_with() -> None:
    busy = [replace(devices("h200")[0], used_bytes=80 * GIB)]
    assert plan(LLAMA, busy, 2048).precision == "int4"


def test_settings_and_checkpoints_narrow_the_precision() -> None:
    kept = plan(LLAMA, devices("h200"), 2048, precisions=("bfloat16",))
    assert kept.precision == "bfloat16"
    assert kept.choice.draft is None  # 131 GiB fit, 15 more do not
    stored = Pair(replace(LLAMA.target, stored="int4"), LLAMA.draft)
    assert plan(stored, devices("h200:2"), 2048).precision == "int4"


def test_the_context_is_the_models_at_most_and_shortened_only_as_a_last_resort() -> None:
    assert planned("llama3-70b", "h200", context_tokens=50_000).context_tokens == 8192
    tight = planned("llama3-70b+none", "rtx4090:1,rtx3090:1,l4:1", context_tokens=8192)
    assert tight.context_tokens == 8192
    short = planned("codellama-13b+none", "cpu:10", context_tokens=16384)
    assert short.precision == "int4"
    assert LEAST_CONTEXT <= short.context_tokens < 16384
    assert short.context_tokens == short.most_context_tokens


@pytest.mark.parametrize(
    ("pair", "text", "said"),
    [
        (
            "llama3-70b",
            "rtx4090:1",
            [
                "rtx4090-24:1",
                "int4",
                "needs 39.8 GiB",
                "weights 37.8 GiB",
                "23.0 GiB can be used",
                "16.8 GiB too little",
            ],
        ),
        (
            "llama3-70b",
            "rtx4090:1",
            ["more devices: rtx4090-24:2 would do", "a smaller pair: qwen2.5-coder-32b+qwen2.5-coder-0.5b"],
        ),
        ("llama3-70b", "cpu:16", ["cpu:16", "more memory: cpu:45 would do", "starcoder2-15b+starcoder2-3b"]),
        ("qwen2.5-coder-32b", "t4:1", ["more devices: t4-16:2 would do", "starcoder2-15b"]),
    ],
)
def test_what_cannot_work_is_refused_with_figures_and_remedies(pair: str, text: str, said: list[str]) -> None:
    with pytest.raises(NoRoomError) as caught:
        planned(pair, text)
    assert not [part for part in said if part not in str(caught.value)], str(caught.value)
    assert caught.value.needed_bytes > caught.value.available_bytes


def test_the_remedies_of_a_refusal_work() -> None:
    assert planned("llama3-70b", "rtx4090:2")
    assert planned("llama3-70b", "cpu:45", context_tokens=512)
    with pytest.raises(NoRoomError):
        planned("llama3-70b", "cpu:42", context_tokens=512)


def test_lower_precision_and_freed_memory_are_remedies() -> None:
    with pytest.raises(NoRoomError, match="lower precision: int8 fits"):
        plan(LLAMA, devices("a100-80"), 2048, precisions=("bfloat16",))
    busy = [replace(devices("h200")[0], used_bytes=120 * GIB)]
    with pytest.raises(NoRoomError, match=r"to end other processes, which hold 120\.0 GiB"):
        plan(LLAMA, busy, 2048)


def test_plain_decoding_is_bounded_by_reading_the_weights() -> None:
    one = planned("llama3-70b+none", "h200:2")
    read = 2 * (70_553_706_496 - 128256 * 8192)  # the embedding is looked up, not read
    assert one.tokens_per_s == pytest.approx(4.8e12 / read, rel=0.001)
    two = planned("llama3-70b+none", "a100-80:2")
    assert two.tokens_per_s == pytest.approx(2.039e12 / read, rel=0.001)  # they take turns
    assert planned("smollm2-135m", "cpu:8").tokens_per_s == 0


def test_sentences_say_what_where_and_why() -> None:
    text = " ".join(sentences(planned("llama3-70b", "h200")))
    assert "llama3-70b in int8 on cuda:0: 67.7 GiB of weights." in text
    assert "llama3-8b drafts in bfloat16 on cuda:0, beside the target" in text
    assert "In bfloat16 the pair needs 149.5 GiB, and 136.9 GiB can be used." in text
    assert "up to 8,192 fit, the model's window (context_tokens in config.toml)" in text
    assert "Without drafts at best 68 tokens/s" in text
    assert "llama3-8b stays off" in " ".join(sentences(planned("llama3-70b", "l40s")))
    assert "cuda:0 (40 layers), cuda:1 (40 layers)" in sentences(planned("llama3-70b", "rtx4090:2"))[0]
    assert "by itself" in " ".join(sentences(planned("llama3-70b", "h200:2")))


def test_the_loader_is_told_in_its_own_words() -> None:
    beside = planned("llama3-70b", "a100-80:2")
    shares = Placement.parse(beside.target_device)
    assert shares.devices == ("cuda:0", "cuda:1")
    owners = shares.device_map(80, tied=False)
    assert isinstance(owners, dict)
    assert list(owners.values()).count("cuda:0") == dict(beside.target_layers)["cuda:0"] + 2  # both tables' first
    alone = planned("llama3-70b", "h200:2", context_tokens=4096)
    assert (alone.target_device, alone.draft_device) == ("cuda:0", "cuda:1")
    quantised = planned("llama3-70b", "h200").choice.target
    assert (quantised.dtype, quantised.quantisation) == ("bfloat16", "int8")
    exact = planned("smollm2-135m", "cpu:8").choice.target
    assert (exact.dtype, exact.quantisation) == ("float32", "none")
    stored = Footprint(replace(LLAMA.target, stored="int4"), "int4")  # nothing is left to quantise
    assert (stored.dtype, stored.quantisation) == ("bfloat16", "none")


MODELS = st.sampled_from(sorted(KNOWN_SHAPES))
GPUS = st.sampled_from(["h200", "h100-80", "a100-40", "l40s", "rtx4090", "l4", "t4"])
CONTEXTS = st.sampled_from([512, 2048, 8192, 40_000, 131_072])


def rank(pair: Pair, names: list[str], context_tokens: int) -> tuple[float, ...]:
    """The larger, the better; shortest for a refusal."""
    try:
        found = plan(pair, devices(",".join(names)), context_tokens)
    except NoRoomError:
        return ()
    order = list(choices(pair, LADDERS[False]))
    return (found.context_tokens if found.choice == order[-1] else context_tokens, -order.index(found.choice))


@settings(max_examples=60)
@given(MODELS, st.lists(GPUS, min_size=1, max_size=4), GPUS, st.integers(0, 4), CONTEXTS)
def test_one_more_device_never_makes_a_plan_worse(
    model: str, names: list[str], more: str, place_in_list: int, context_tokens: int
) -> None:
    pair = Pair.parse(model)
    extended = [*names[:place_in_list], more, *names[place_in_list:]]
    assert rank(pair, extended, context_tokens) >= rank(pair, names, context_tokens)


@settings(max_examples=60)
@given(MODELS, st.lists(GPUS, min_size=1, max_size=4), CONTEXTS)
def test_a_plan_holds_every_layer_once_and_no_device_more_than_it_has(
    model: str, names: list[str], context_tokens: int
) -> None:
    pair = Pair.parse(model)
    try:
        found = plan(pair, devices(",".join(names)), context_tokens)
    except NoRoomError:
        return
    assert sum(load.layers for load in found.loads) == pair.target.layers
    assert sum(load.target_bytes for load in found.loads) == found.choice.target.weights_bytes
    draft_bytes = found.choice.draft.weights_bytes if found.choice.draft else 0
    assert sum(load.draft_bytes for load in found.loads) == draft_bytes
    assert all(load.free_bytes >= 0 for load in found.loads)
    assert found.context_tokens <= found.most_context_tokens
    if found.most_context_tokens < pair.target.context_length:
        assert place(found.choice, found.devices, found.most_context_tokens + 1) is None
