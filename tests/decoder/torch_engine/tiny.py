"""Tiny random models for these tests, with Llama-3's layout of heads."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from decoder.torch_engine.graphs import Recorder
from decoder.torch_model import TorchModel
from drafting.interface import Vocabulary
from tests.fakes import tiny_transformer

TEXT = [int(token) for token in np.random.default_rng(0).integers(0, 64, 600)]
JOURNEY = ((250, 0), (1, 0), (5, 3), (9, 0), (16, 11), (1, 0), (32, 30), (2, 0), (290, 4), (16, 0), (13, 0))
"""(tokens, of them taken back): a prompt, draft steps, verify blocks, one across key lengths, and on to the end."""


def walk(model: TorchModel) -> list[NDArray[np.float32]]:
    """Rows along the journey through `TEXT`."""
    rows, length = [], 0
    for step, back in JOURNEY:
        logits = torch.as_tensor(model.extend(TEXT[length : length + step], last=min(step, 16)))
        rows.append(logits.cpu().numpy().copy())
        length += step - back
        model.rewind(length)
    return rows


def network(seed: int = 0, kind: str = "Llama", dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
    """A transformers model of two layers, 4 query heads on 2 key heads, 64 tokens."""
    return tiny_transformer(seed, kind=kind, **changes).to(dtype)


def fixed(model: Any, *, context_length: int = 600, recorder: Recorder | None = None, **settings: Any) -> TorchModel:
    """As on CUDA: passes of few shapes."""
    vocabulary = Vocabulary(model.config.vocab_size, "tiny")
    return TorchModel(
        model,
        name="fixed",
        vocabulary=vocabulary,
        context_length=context_length,
        fixed_shapes=True,
        recorder=recorder,
        **settings,
    )


def free(model: Any, *, context_length: int = 600, **settings: Any) -> TorchModel:
    """As on CPU: passes as long as the run."""
    return TorchModel(
        model,
        name="free",
        vocabulary=Vocabulary(model.config.vocab_size, "tiny"),
        context_length=context_length,
        **settings,
    )
