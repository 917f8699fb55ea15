"""Parameters follow from a shape: as the catalog states them, and as transformers builds the model."""

from dataclasses import replace

import pytest

from decoder.models.catalog import KNOWN
from decoder.models.entry import ModelEntry
from decoder.plan.known_shapes import KNOWN_SHAPES


@pytest.mark.parametrize("entry", KNOWN, ids=lambda entry: entry.name)
def test_every_entry_of_the_catalog_has_a_shape_with_its_parameters_and_window(entry: ModelEntry) -> None:
    shape = KNOWN_SHAPES[entry.name]
    assert shape.parameters == entry.parameters
    assert shape.context_length == entry.context_length
    assert shape.name == entry.name


@pytest.mark.parametrize(
    "name", ["llama3-70b", "llama3.2-1b", "qwen2.5-coder-0.5b", "qwen2.5-coder-7b", "starcoder2-3b", "starcoder2-15b"]
)
def test_transformers_builds_a_model_of_as_many_parameters(name: str) -> None:
    import torch
    import transformers

    shape = replace(KNOWN_SHAPES[name], layers=2)
    config = transformers.AutoConfig.for_model(
        shape.family,
        num_hidden_layers=shape.layers,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
    )
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    assert model.num_parameters() == shape.parameters


def test_qwen3_normalises_queries_and_keys() -> None:
    import torch
    import transformers

    shape = replace(KNOWN_SHAPES["llama3.2-1b"], family="qwen3", layers=1, head_dim=128)
    config = transformers.AutoConfig.for_model(
        "qwen3",
        num_hidden_layers=1,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=128,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    assert model.num_parameters() == shape.parameters
