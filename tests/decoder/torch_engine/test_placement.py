import pytest
import torch
import transformers

from decoder.torch_engine.placement import Placement, PlacementError
from tests.decoder.torch_engine.tiny import network


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu", {"": "cpu"}),
        ("cuda:3", {"": "cuda:3"}),
        ("spread", "auto"),
    ],
)
def test_one_device_takes_everything_and_spread_is_left_to_accelerate(text: str, expected: object) -> None:
    assert Placement.parse(text).device_map(2, tied=False) == expected


@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "Mistral", "Starcoder2", "Qwen3"])
@pytest.mark.parametrize("tied", [False, True])
def test_shares_place_every_weight_of_the_model(kind: str, tied: bool) -> None:
    model = network(kind=kind, num_hidden_layers=4, tie_word_embeddings=tied)
    places = Placement.parse("cuda:0=3,cuda:1=1").device_map(4, tied=tied)
    assert isinstance(places, dict)
    for name, _ in [*model.named_parameters(remove_duplicate=False), *model.named_buffers()]:
        assert sum(name.startswith(f"{prefix}.") for prefix in places) == 1, name
    assert [places[f"model.layers.{index}"] for index in range(4)] == ["cuda:0"] * 3 + ["cuda:1"]
    assert (places["model.embed_tokens"], places["model.norm"]) == ("cuda:0", "cuda:1")
    assert places["lm_head"] == ("cuda:0" if tied else "cuda:1")


@pytest.mark.parametrize("text", ["gpu", "cuda:0=", "cuda:0=0", "cuda=4", "cuda:0=4;cuda:1=4", ""])
def test_what_names_no_device_is_refused(text: str) -> None:
    with pytest.raises(PlacementError, match="is no device: use cpu, cuda"):
        Placement.parse(text)


def test_shares_that_are_not_the_models_layers_are_refused() -> None:
    with pytest.raises(PlacementError, match="the shares add up to 79 layers, the model has 80"):
        Placement.parse("cuda:0=40,cuda:1=39").device_map(80, tied=False)


def test_a_70b_model_is_shared_out_without_being_loaded() -> None:
    config = transformers.LlamaConfig(num_hidden_layers=80, hidden_size=8192, intermediate_size=28672)
    places = Placement.parse("cuda:0=40,cuda:1=40").device_map(config.num_hidden_layers, tied=False)
    with torch.device("meta"):
        names = [name for name, _ in transformers.LlamaForCausalLM(config).named_parameters()]
    assert isinstance(places, dict)
    assert all(any(name.startswith(f"{prefix}.") for prefix in places) for name in names)
