"""Writes a safetensors file rows by rows: its header wants only the forms of tensors, so none has to be in memory."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_KINDS = {"float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8"}
"""In the order in which the safetensors library lays tensors out, which keeps each aligned."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a header says of a tensor."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Of one step along the first axis."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.row_bytes


class TensorFile:
    """A file under way, byte for byte as `safetensors.numpy.save_file` would write it."""

    def __init__(self, file: BinaryIO, forms: Mapping[str, Form], metadata: Mapping[str, str]) -> None:
        """Writes the header. forms: every tensor that will be written, of the types float32, float16, int8, uint8."""
        self._file = file
        self._forms = forms
        self._starts: dict[str, int] = {}
        header: dict[str, Any] = {"__metadata__": dict(metadata)}
        order, end = list(_KINDS), 0
        for name, form in sorted(forms.items(), key=lambda item: (order.index(item[1].dtype.name), item[0])):
            self._starts[name], end = end, end + form.nbytes
            header[name] = {
                "dtype": _KINDS[form.dtype.name],
                "shape": form.shape,
                "data_offsets": (self._starts[name], end),
            }
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        file.write(len(text).to_bytes(8, "little") + text)
        self._data = file.tell()

    def write(self, name: str, first: int, rows: NDArray[Any]) -> None:
        """Rows of a tensor from number `first` on, in any order; whatever is left out stays a hole."""
        form = self._forms[name]
        assert (rows.dtype, rows.shape[1:]) == (form.dtype, form.shape[1:])
        self._file.seek(self._data + self._starts[name] + first * form.row_bytes)
        self._file.write(np.ascontiguousarray(rows).data)
