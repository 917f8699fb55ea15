"""A model's shape from the `config.json` of its folder."""

import json
from pathlib import Path
from typing import Any, get_args

from decoder.plan.errors import PlanError
from decoder.plan.precision import GROUP, Precision
from decoder.plan.shape import Family, ModelShape

_SAME_AS_LLAMA = ("mistral",)


def shape_in(folder: Path, name: str) -> ModelShape:
    """The shape that `config.json` tells. Raises PlanError where it is not readable or of an unknown architecture."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        family = _family(config, path)
        heads = int(config["num_attention_heads"])
        stored, group = _quantisation(config.get("quantization_config"), path)
        return ModelShape(
            name=name,
            family=family,
            layers=int(config["num_hidden_layers"]),
            hidden=int(config["hidden_size"]),
            intermediate=int(config["intermediate_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            vocabulary=int(config["vocab_size"]),
            context_length=int(config["max_position_embeddings"]),
            tied=bool(config.get("tie_word_embeddings", family == "starcoder2")),
            stored=stored,
            group=group,
        )
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise PlanError(f"{path} is not readable as a model's configuration: {error}") from error
    except KeyError as error:
        raise PlanError(f"{path} does not tell {error}, which a plan needs") from error


def _family(config: dict[str, Any], path: Path) -> Family:
    named = config.get("model_type")
    if named in _SAME_AS_LLAMA:
        return "llama"
    known: tuple[Family, ...] = get_args(Family)
    for family in known:
        if family == named:
            return family
    raise PlanError(f"{path}: model_type {named!r} is none of {', '.join((*known, *_SAME_AS_LLAMA))}")


def _quantisation(config: dict[str, Any] | None, path: Path) -> tuple[Precision | None, int]:
    """How a quantised checkpoint is stored: GPTQ, AWQ, bitsandbytes and fp8 say it in different words."""
    if not config:
        return None, GROUP
    if "fp8" in str(config.get("quant_method", "")):
        return "float8", GROUP
    bits = config.get("bits") or (4 if config.get("load_in_4bit") else 8 if config.get("load_in_8bit") else 0)
    group = config.get("group_size") or GROUP
    if bits == 4:
        return "int4", group if group > 0 else GROUP
    if bits == 8:
        return "int8", GROUP
    raise PlanError(f"{path}: quantization_config is neither fp8, nor one of 4 or 8 bits: {config}")
