"""Attention in plain matrix products, so that a row's result does not depend on its place in the block."""

from typing import Any

import torch
import transformers
from torch.nn.functional import pad

from decoder.torch_engine.shapes import SPARE_ROWS

GROUPED, BLOCKED = "draftline_grouped", "draftline_blocked"
_PLAIN = frozenset({"llama", "mistral", "qwen2", "qwen3", "starcoder2", "phi3", "granite"})
"""Architectures whose attention is softmax(q k + mask) v and nothing else."""


def choose_attention(model: Any, *, blocked: bool) -> None:
    """Sets a transformers model to one of the two below where they mean the same, else to the library's own plain one.

    Fused kernels choose how to split their sums by the number of rows: near-ties then fall either way.
    """
    transformers.AttentionInterface.register(GROUPED, grouped_attention)
    transformers.AttentionInterface.register(BLOCKED, blocked_attention)
    ours = BLOCKED if blocked else GROUPED
    model.set_attn_implementation(ours if model.config.model_type in _PLAIN else "eager")


def grouped_attention(
    _module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float,
    **_options: Any,
) -> tuple[torch.Tensor, None]:
    """softmax(q k^T scaling + mask) v, with the query heads that share a key head side by side as rows.

    So grouped keys and values are read once and never copied (GQA, Ainslie et al. 2023, arXiv:2305.13245).
    query: [1, heads, rows, dim]; key, value: [1, kv heads, keys, dim]; mask: [1, 1, rows, keys], added to scores.
    Returns [1, rows, heads, dim].
    """
    _, num_heads, num_rows, dim = query.shape
    num_kv_heads, num_keys = key.shape[1], key.shape[2]
    queries = query.reshape(1, num_kv_heads, -1, dim)
    scores = torch.matmul(queries, key.transpose(2, 3)) * scaling
    scores = scores.view(1, num_kv_heads, -1, num_rows, num_keys) + attention_mask[:, :, None]
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)
    output = torch.matmul(weights.view(1, num_kv_heads, -1, num_keys), value)
    return output.reshape(1, num_heads, num_rows, value.shape[-1]).transpose(1, 2).contiguous(), None


def blocked_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """`grouped_attention`, always on `SPARE_ROWS` rows at a time: the same products for a draft step and a prompt.

    Libraries choose kernels by the sizes of a product. Here these depend on the number of keys alone, so that what
    `exactness` finds with one context length is true of all. A GPU hardly notices: the keys are what it waits for.
    """
    num_rows = query.shape[2]
    padding = (0, 0, 0, -num_rows % SPARE_ROWS)
    queries = torch.split(pad(query, padding), SPARE_ROWS, dim=2)
    masks = torch.split(pad(attention_mask, padding), SPARE_ROWS, dim=2)
    parts = [
        grouped_attention(module, block, key, value, mask, scaling, **options)[0]
        for block, mask in zip(queries, masks, strict=True)
    ]
    return torch.cat(parts, dim=1)[:, :num_rows], None
