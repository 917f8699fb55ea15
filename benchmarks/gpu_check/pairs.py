"""The sizes of models to measure: the real pair, a smaller one, and one for a machine without a GPU."""

from dataclasses import dataclass
from typing import Any

import transformers

ENDS = (128_001, 128_009)
"""Llama-3 ends a text in two ways."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """A model of Llama's architecture."""

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int = 8
    vocabulary: int = 128_256
    window: int = 8192

    @property
    def num_parameters(self) -> int:
        """Weights of all kinds; embedding and head are two."""
        head_dim = self.hidden // self.heads
        attention = 2 * self.hidden * self.hidden + 2 * self.hidden * self.kv_heads * head_dim
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        return self.layers * layer + 2 * self.vocabulary * self.hidden + self.hidden

    def config(self) -> Any:
        """The same as transformers has it, with Llama-3's rope and ends of text."""
        return transformers.LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            intermediate_size=self.intermediate,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            max_position_embeddings=self.window,
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": 500_000.0},
            bos_token_id=128_000,
            eos_token_id=list(ENDS),
            tie_word_embeddings=False,
        )


LLAMA3_8B = ModelSize("llama3-8b", layers=32, hidden=4096, intermediate=14336, heads=32)
LLAMA3_70B = ModelSize("llama3-70b", layers=80, hidden=8192, intermediate=28672, heads=64)
LLAMA3_1B = ModelSize("llama3.2-1b", layers=16, hidden=2048, intermediate=8192, heads=32, window=131_072)
"""Untied, unlike the real one: the head is what a draft model reads most of."""
TINY_TARGET = ModelSize("tiny-target", layers=2, hidden=128, intermediate=256, heads=8, kv_heads=2, vocabulary=512)
TINY_DRAFT = ModelSize("tiny-draft", layers=1, hidden=64, intermediate=128, heads=8, kv_heads=2, vocabulary=512)


@dataclass(frozen=True, slots=True)
class Pair:
    """A large model and the small one that drafts for it."""

    target: ModelSize
    draft: ModelSize


TINY = Pair(TINY_TARGET, TINY_DRAFT)
PAIRS = (Pair(LLAMA3_70B, LLAMA3_8B), Pair(LLAMA3_8B, LLAMA3_1B))
"""The best first."""
