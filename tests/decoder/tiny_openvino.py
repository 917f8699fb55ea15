"""Tiny random models on OpenVINO, and what a text leaves in an empty one: rows, keys and values, to the last bit."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.openvino_model import OpenVinoModel
from drafting.interface import Vocabulary
from tests.engines import stored_model

Rows = NDArray[np.float32]
Keys = list[NDArray[np.float16]]
VOCABULARY = 64


def random_text(seed: int, length: int, vocabulary: int = VOCABULARY) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, vocabulary, length)]


TEXT = random_text(0, 200)


def load(folder: Path | None = None, *, vocabulary: int = VOCABULARY, **changes: Any) -> OpenVinoModel:
    """A model of two layers with an empty cache; compressed weights are made once."""
    folder = folder or stored_model(1)
    settings: dict[str, Any] = {"context_length": 256, "precision": "float16", "threads": 1, "cache": folder}
    return OpenVinoModel.load(folder, name="tiny", vocabulary=Vocabulary(vocabulary, "tiny"), **settings | changes)


def keys_and_values(model: OpenVinoModel) -> Keys:
    """[kv heads, tokens, head_dim] of every layer, as the block table finds them."""
    held, table = len(model._sequence.tokens), model._sequence.table
    found = []
    for cache in model._caches:
        blocks = cache[table].swapaxes(0, 1)
        found.append(blocks.reshape(blocks.shape[0], -1, blocks.shape[3])[:, :held].copy())
    return found


def fresh_rows(text: Sequence[int]) -> Rows:
    """Those of a text that is evaluated at once."""
    return _fresh(tuple(text))[0]


def assert_as_fresh(model: OpenVinoModel, text: Sequence[int]) -> None:
    """The keys and values held are those of `text`, evaluated at once, bit for bit."""
    found, expected = keys_and_values(model), _fresh(tuple(text))[1]
    assert len(found) == len(expected) == 4, "keys and values of two layers"
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.view(np.uint16), other.view(np.uint16))


@functools.cache
def _empty() -> OpenVinoModel:
    return load()


@functools.cache
def _fresh(text: tuple[int, ...]) -> tuple[Rows, Keys]:
    model = _empty()
    model.rewind(0)
    return model.extend(text), keys_and_values(model)
