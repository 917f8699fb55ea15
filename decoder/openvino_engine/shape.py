"""The dimensions of a Llama-architecture model, read from its config.json."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ARCHITECTURES = ("LlamaForCausalLM", "Qwen2ForCausalLM", "MistralForCausalLM")
"""Those that differ in nothing that this room does not know: Qwen2 has biases on queries, keys and values."""


class UnsupportedModelError(ValueError):
    """A model that this engine cannot run; the text names what is in the way."""


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """Grouped-query attention, RMS normalisation before each half of a layer, a gated feed-forward half."""

    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    norm_epsilon: float
    inverse_frequencies: tuple[float, ...]
    """Of the rotary embedding, [head_dim / 2], scaling included."""
    tied: bool
    max_positions: int

    @staticmethod
    def read(folder: Path) -> "LlamaShape":
        """Raises UnsupportedModelError for another architecture, or one with parts that are not known here."""
        try:
            config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UnsupportedModelError(f"config.json cannot be read ({error})") from error
        try:
            return LlamaShape.of(config)
        except KeyError as error:
            raise UnsupportedModelError(f"config.json lacks {error}") from error
        except (TypeError, AttributeError, ArithmeticError) as error:
            raise UnsupportedModelError(f"config.json makes no sense ({error})") from error

    @staticmethod
    def of(config: dict[str, Any]) -> "LlamaShape":
        """As `read`, from the parsed file."""
        _require_known(config)
        heads = int(config["num_attention_heads"])
        head_dim = int(config.get("head_dim") or config["hidden_size"] // heads)
        return LlamaShape(
            num_layers=int(config["num_hidden_layers"]),
            num_heads=heads,
            num_kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=head_dim,
            norm_epsilon=float(config["rms_norm_eps"]),
            inverse_frequencies=tuple(_inverse_frequencies(config, head_dim)),
            tied=bool(config.get("tie_word_embeddings", False)),
            max_positions=int(config["max_position_embeddings"]),
        )

    def rotary_tables(self, length: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Cosines and sines [length, 1, 1, head_dim] of all positions below `length`."""
        angles = np.outer(np.arange(length), np.array(self.inverse_frequencies))
        angles = np.concatenate([angles, angles], axis=1).reshape(length, 1, 1, self.head_dim)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _require_known(config: dict[str, Any]) -> None:
    names = config.get("architectures") or ["nothing"]
    if names[0] not in ARCHITECTURES:
        raise UnsupportedModelError(f"its architecture is {names[0]}, known are {', '.join(ARCHITECTURES)}")
    if config.get("hidden_act", "silu") != "silu":
        raise UnsupportedModelError(f"its activation is {config['hidden_act']}, known is silu")
    if config.get("mlp_bias"):
        raise UnsupportedModelError("its feed-forward halves have biases")
    if config.get("quantization_config"):
        raise UnsupportedModelError("its weights are quantised in a format of another engine")
    window = config.get("sliding_window")
    if window and config.get("use_sliding_window", True) and window < config["max_position_embeddings"]:
        raise UnsupportedModelError(f"its attention slides over {window} tokens")


def _inverse_frequencies(config: dict[str, Any], head_dim: int) -> NDArray[np.float64]:
    """RoPE (Su et al. 2021, arXiv:2104.09864), with the scaling of Llama 3.1 or by a plain factor."""
    rope = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
    theta = float(rope.get("rope_theta") or config.get("rope_theta") or 10_000.0)
    frequencies: NDArray[np.float64] = theta ** -(np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind == "default":
        return frequencies
    if kind == "linear":
        return frequencies / float(rope["factor"])
    if kind == "llama3":
        return _llama3(frequencies, rope)
    raise UnsupportedModelError(f"its rotary embedding is scaled by {kind!r}, known are linear and llama3")


def _llama3(frequencies: NDArray[np.float64], rope: dict[str, Any]) -> NDArray[np.float64]:
    """Long waves are stretched by `factor`, short ones kept, those between blended (Llama 3.1's model card)."""
    factor, low, high = (float(rope[key]) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    waves_in_window = float(rope["original_max_position_embeddings"]) * frequencies / (2 * np.pi)
    kept = np.clip((waves_in_window - low) / (high - low), 0.0, 1.0)
    blended: NDArray[np.float64] = frequencies * (kept + (1.0 - kept) / factor)
    return blended
