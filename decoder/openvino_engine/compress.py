"""Weights in 8 or 4 bits, made once from a model folder and kept in a file beside it or in the cache.

int8: a row of a matrix shares one scale, symmetric. int4: 32 neighbours in a row share a scale and a zero point
(which need not be whole), as in GGUF's Q4_1, so that weights that come from there stay what they were. Only matrices
are compressed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save_file

from decoder.openvino_engine.shape import LlamaShape, UnsupportedModelError
from decoder.openvino_engine.weights import ModelWeights, SafeTensors

Compression = Literal["int8", "int4"]
Reached = Callable[[int, int], None]
"""(bytes of the original weights done, bytes in all)."""

GROUP = 32
_SENSITIVE = ("model.embed_tokens.weight", "lm_head.weight")
"""4 bits are too few for these: a logit is one product with one of their rows."""
_FORMAT = "4"
"""Changes whenever a file of an older version could be misread."""


def compressed(folder: Path, kind: Compression, cache: Path, reached: Reached = lambda _done, _all: None) -> Path:
    """The file with the compressed weights of `folder`; made now unless it is there.

    A pulled model holds it itself, where its folder can be written to; else it lies in `cache`. Raises
    UnsupportedModelError, or OSError where no place can be written to.
    """
    places = _places(folder, kind, cache)
    for path in places:
        if _is_current(path, folder):
            return path
    for path in places[:-1]:
        with suppress(OSError):
            return _made(folder, kind, path, reached)
    return _made(folder, kind, places[-1], reached)


def compress_rows(matrix: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """int8 [rows, columns] and `.scale` float16 [rows, 1]."""
    scale = _scale(np.abs(matrix).max(axis=1, keepdims=True) / 127)
    return {"": np.rint(matrix / scale.astype(np.float32)).clip(-127, 127).astype(np.int8), ".scale": scale}


def compress_groups(matrix: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
    """Two 4-bit values a byte [rows * columns / 2], `.scale` and `.zero` float16 [rows, groups]."""
    rows, columns = matrix.shape
    grouped = matrix.reshape(rows, columns // GROUP, GROUP)
    low = np.minimum(grouped.min(axis=2, keepdims=True), 0.0)
    scale = _scale((np.maximum(grouped.max(axis=2, keepdims=True), 0.0) - low) / 15)
    wide = scale.astype(np.float32)
    zero = (-low / wide).astype(np.float16)
    values = np.rint(grouped / wide + zero.astype(np.float32)).clip(0, 15)
    return {"": _packed(values), ".scale": scale[:, :, 0], ".zero": zero[:, :, 0]}


def _scale(wanted: NDArray[np.float32]) -> NDArray[np.float16]:
    """In float16 and never 0: a row of zeros is 0 by any scale."""
    scale = wanted.astype(np.float16)
    return np.where(scale > 0, scale, np.float16(1.0))


def _packed(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The lower half of a byte comes first."""
    flat = values.astype(np.uint8).reshape(-1)
    return np.bitwise_or(flat[0::2], np.left_shift(flat[1::2], 4), dtype=np.uint8)


def _made(folder: Path, kind: Compression, path: Path, reached: Reached) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not _is_current(path, folder):  # another process may have been quicker
            _write(folder, kind, path, reached)
    return path


def _write(folder: Path, kind: Compression, path: Path, reached: Reached) -> None:
    source = _fingerprint(folder)  # before it is read: what changes meanwhile is noticed at the next start
    shape, weights = LlamaShape.read(folder), ModelWeights(folder)
    names = [name for name in weight_names(shape) if name in weights or not name.endswith(".bias")]
    whole = sum(weights.tensor(name).values.nbytes for name in names)
    done = 0
    tensors: dict[str, NDArray[Any]] = {}
    for name in names:
        stored = weights.tensor(name)
        tensors |= {name + part: array for part, array in _parts(name, stored.as_float32(), kind).items()}
        reached(done := done + stored.values.nbytes, whole)
    unfinished = path.with_suffix(".unfinished")
    try:
        save_file(tensors, unfinished, metadata={"source": source})
        unfinished.replace(path)
    except SafetensorError as error:
        raise OSError(f"{path} cannot be written ({error})") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _parts(name: str, values: NDArray[np.float32], kind: Compression) -> dict[str, NDArray[Any]]:
    if values.ndim == 1:
        return {"": values}
    if kind == "int4" and name not in _SENSITIVE and values.shape[1] % GROUP == 0:
        return compress_groups(values)
    return compress_rows(values)


def weight_names(shape: LlamaShape) -> Iterator[str]:
    """All tensors that a model of this shape may have, in the order of use."""
    yield "model.embed_tokens.weight"
    for layer in range(shape.num_layers):
        prefix = f"model.layers.{layer}."
        for part in ("q_proj", "k_proj", "v_proj", "o_proj"):
            yield f"{prefix}self_attn.{part}.weight"
            yield f"{prefix}self_attn.{part}.bias"
        for part in ("gate_proj", "up_proj", "down_proj"):
            yield f"{prefix}mlp.{part}.weight"
        yield f"{prefix}input_layernorm.weight"
        yield f"{prefix}post_attention_layernorm.weight"
    yield "model.norm.weight"
    if not shape.tied:
        yield "lm_head.weight"


def _places(folder: Path, kind: Compression, cache: Path) -> list[Path]:
    """The best first."""
    cached = cache / f"{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.{kind}"
    is_pulled = (folder / "draftline.json").is_file()
    return [folder / f"weights.{kind}", cached] if is_pulled else [cached]  # goes when the model goes


def _is_current(path: Path, folder: Path) -> bool:
    try:
        return path.is_file() and SafeTensors(path).metadata.get("source") == _fingerprint(folder)
    except UnsupportedModelError:  # cut short or not ours
        return False


def _fingerprint(folder: Path) -> str:
    """Of the original files: names, sizes and times of change."""
    files = sorted([*folder.glob("*.safetensors"), folder / "config.json"])
    stats = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]
    return hashlib.sha256(json.dumps([_FORMAT, stats]).encode()).hexdigest()
