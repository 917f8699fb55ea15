"""The engines that `tests/decoder/test_engine_traps.py` tries: a new one is one function and one line of ENGINES."""

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Protocol

from drafting.interface import LanguageModel, Vocabulary
from tests.fakes import NumpyModel, tiny_llama, tiny_transformer


class Factory(Protocol):
    """Makes a small random model with an empty cache; the same arguments give the same model, and a new one.

    config: `vocabulary` (64 tokens unless said), `context_length` (256), `dtype` ("float32" or "bfloat16") and `kind`,
    a family of transformers ("Llama"); everything else is a setting of that family, as `vocab_size` for a padded
    vocabulary, or `sliding_window`. An engine may refuse a family with an error that names what it lacks.
    """

    def __call__(self, seed: int, **config: Any) -> LanguageModel: ...


def numpy_model(
    seed: int, *, vocabulary: int = 64, context_length: int = 256, dtype: str = "float32", **_layers: Any
) -> LanguageModel:
    """A model without layers, and exact in any precision: what settings of layers say means nothing to it."""
    assert dtype in ("float32", "bfloat16")
    return NumpyModel(seed, vocabulary=vocabulary, context_length=context_length)


def torch_model(seed: int, *, dtype: str = "float32", **config: Any) -> LanguageModel:
    """The reference engine on CPU."""
    import torch  # not above: those who test other engines need it not

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        return tiny_llama(seed, **config)
    finally:
        torch.set_default_dtype(before)


def openvino_model(
    seed: int, *, vocabulary: int = 64, context_length: int = 256, dtype: str = "float32", **layers: Any
) -> LanguageModel:
    """The engine on CPUs, with float16 weights. dtype: what they were stored in. It refuses families that it lacks."""
    from decoder.openvino_model import OpenVinoModel

    folder = stored_model(seed, dtype=dtype, vocabulary=vocabulary, **layers)
    return OpenVinoModel.load(
        folder,
        name=f"openvino-{seed}",
        vocabulary=Vocabulary(vocabulary, "tiny"),
        context_length=context_length,
        precision="float16",
        cache=folder,
        threads=1,  # on tiny matrices threads mostly wait for each other
    )


def stored_model(seed: int, *, dtype: str = "float32", **config: Any) -> Path:
    """The folder of `tiny_transformer`, which lasts until the process ends; its biases are random as well."""
    return _stored(seed, dtype, json.dumps(config, sort_keys=True))


@functools.cache
def _stored(seed: int, dtype: str, config: str) -> Path:
    import torch

    model = tiny_transformer(seed, **json.loads(config))
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        for name, weight in model.named_parameters():
            if name.endswith(".bias"):
                weight.normal_()
    folder = Path(tempfile.mkdtemp(prefix="dl-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    return folder


ENGINES: dict[str, Factory] = {"numpy": numpy_model, "torch": torch_model, "openvino": openvino_model}
