"""The dimensions of a decoder-only transformer, and how many parameters follow from them."""

from dataclasses import dataclass
from typing import Literal

from decoder.plan.precision import GROUP, Precision

Family = Literal["llama", "qwen2", "qwen3", "starcoder2"]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """As in a transformers `config.json`; `family` is what it does with biases, norms and gates.

    vocabulary: rows of the embedding. context_length: tokens. stored: set where the checkpoint is quantised already,
    with `group` weights to a scale.
    """

    name: str
    family: Family
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_length: int
    tied: bool = False
    stored: Precision | None = None
    group: int = GROUP

    @property
    def matrices(self) -> tuple[tuple[int, int], ...]:
        """(rows, columns) of one layer's weight matrices: attention, then the feed-forward part."""
        gates = 1 if self.family == "starcoder2" else 2
        return (
            (self.query_width, self.hidden),
            *[(self.kv_width, self.hidden)] * 2,
            (self.hidden, self.query_width),
            *[(self.intermediate, self.hidden)] * gates,
            (self.hidden, self.intermediate),
        )

    @property
    def query_width(self) -> int:
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        return self.kv_heads * self.head_dim

    @property
    def layer_vectors(self) -> int:
        """Parameters of one layer's norms and biases."""
        projected = self.query_width + 2 * self.kv_width
        return {
            "llama": 2 * self.hidden,
            "qwen2": 2 * self.hidden + projected,
            "qwen3": 2 * self.hidden + 2 * self.head_dim,
            "starcoder2": 4 * self.hidden + projected + 2 * self.hidden + self.intermediate,
        }[self.family]

    @property
    def last_norm(self) -> int:
        return 2 * self.hidden if self.family == "starcoder2" else self.hidden

    @property
    def embedding(self) -> int:
        """Parameters of the embedding, and of the head where that is not the same table."""
        return self.vocabulary * self.hidden

    @property
    def parameters(self) -> int:
        layer = sum(rows * columns for rows, columns in self.matrices) + self.layer_vectors
        return self.layers * layer + self.last_norm + self.embedding * (1 if self.tied else 2)
