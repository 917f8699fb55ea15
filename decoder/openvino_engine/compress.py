"""Weights in 8 or 4 bits, made once from a model folder and kept in a file beside it or in the cache.

Only matrices are compressed. However large the model is, about a million of its values are in memory at a time.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from decoder.openvino_engine.prepared import (
    UNFINISHED,
    PreparationError,
    Waiting,
    alone,
    note_source,
    places,
    remove_orphans,
    remove_unfinished,
)
from decoder.openvino_engine.quantisation import GROUP, compress_groups, compress_rows
from decoder.openvino_engine.shape import LlamaShape, UnsupportedModelError
from decoder.openvino_engine.tensor_file import Form, TensorFile
from decoder.openvino_engine.weights import ModelWeights, SafeTensors, Stored

Compression = Literal["int8", "int4"]
Reached = Callable[[int, int], None]
"""(bytes of the original weights done, bytes in all)."""

_SENSITIVE = ("model.embed_tokens.weight", "lm_head.weight")
"""4 bits are too few for these: a logit is one product with one of their rows."""
_FORMAT = "4"
"""Changes whenever a file of an older version could be misread."""
_PIECE = 1 << 20
"""Values of a matrix that are compressed at once."""


def compressed(
    folder: Path,
    kind: Compression,
    cache: Path,
    reached: Reached = lambda _done, _all: None,
    waiting: Waiting = lambda _text: None,
) -> Path:
    """The file with the compressed weights of `folder`; made now unless it is there.

    A pulled model holds it itself, where its folder can be written to; else it lies in `cache`. Raises
    UnsupportedModelError, or PreparationError where no place can be written to, or another process does not come to
    an end.
    """
    remove_unfinished(folder)
    candidates = places(folder, kind, cache)
    for path in candidates:
        if _is_current(path, folder):
            return path
    remove_orphans(cache)
    for path in candidates[:-1]:
        with suppress(OSError):
            return _made(folder, kind, path, reached, waiting)
    try:
        return _made(folder, kind, candidates[-1], reached, waiting)
    except OSError as error:
        raise PreparationError(
            f"its weights in {kind} cannot be kept in {cache} ({error.strerror or error}): make room there, or set"
            " XDG_CACHE_HOME to a folder on another disk"
        ) from error


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


def _made(folder: Path, kind: Compression, path: Path, reached: Reached, waiting: Waiting) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.parent, waiting):
        if not _is_current(path, folder):  # another process may have been quicker
            _write(folder, kind, path, reached)
            if path.parent != folder:
                note_source(path, folder)
    return path


def _write(folder: Path, kind: Compression, path: Path, reached: Reached) -> None:
    source = _fingerprint(folder)  # before it is read: what changes meanwhile is noticed at the next start
    shape, weights = LlamaShape.read(folder), ModelWeights(folder)
    names = [name for name in weight_names(shape) if name in weights or not name.endswith(".bias")]
    tensors = {name: weights.tensor(name) for name in names}
    unfinished = path.with_suffix(UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            target = TensorFile(file, _forms(tensors, kind), {"source": source})
            done, whole = 0, sum(stored.values.nbytes for stored in tensors.values())
            for name, first, piece in _pieces(tensors):
                for part, rows in _parts(name, piece.as_float32(), kind).items():
                    target.write(name + part, first * len(rows) // len(piece.values), rows)
                weights.release()
                reached(done := done + piece.values.nbytes, whole)
            file.flush()
            os.fsync(file.fileno())  # the header alone would pass for the whole file after a power cut
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _pieces(tensors: Mapping[str, Stored]) -> Iterator[tuple[str, int, Stored]]:
    """Every tensor some rows at a time: its name, the number of the first of them, and the rows."""
    for name, stored in tensors.items():
        count = max(1, _PIECE // stored.values[0].size)
        for first in range(0, len(stored.values), count):
            yield name, first, stored.rows(first, first + count)


def _forms(tensors: Mapping[str, Stored], kind: Compression) -> dict[str, Form]:
    """What the parts of all tensors will look like: one row tells it for the rest."""
    forms = {}
    for name, stored in tensors.items():
        for part, rows in _parts(name, stored.rows(0, 1).as_float32(), kind).items():
            forms[name + part] = Form(rows.dtype, (len(rows) * len(stored.values), *rows.shape[1:]))
    return forms


def _parts(name: str, values: NDArray[np.float32], kind: Compression) -> dict[str, NDArray[Any]]:
    """By the ending of their names; a part has a fixed number of rows for each row of `values`."""
    if values.ndim == 1:
        return {"": values}
    if kind == "int4" and name not in _SENSITIVE and values.shape[1] % GROUP == 0:
        return compress_groups(values)
    return compress_rows(values)


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
