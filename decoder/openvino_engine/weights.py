"""The tensors of a model folder, mapped into memory: nothing is copied before it is used."""

import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoder.openvino_engine.shape import UnsupportedModelError

INDEX = "model.safetensors.index.json"
_NUMPY: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
}


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as it lies in the file. bfloat16, which numpy does not know, appears as its bits in uint16."""

    values: NDArray[Any]
    is_bfloat16: bool = False

    def rows(self, start: int, stop: int) -> "Stored":
        """Those of the first axis from `start` up to `stop`, as far as there are so many."""
        return Stored(self.values[start:stop], self.is_bfloat16)

    def as_float32(self) -> NDArray[np.float32]:
        """A copy in single precision, exact for every stored format."""
        if self.is_bfloat16:
            return (self.values.astype(np.uint32) << 16).view(np.float32)
        return self.values.astype(np.float32)


class SafeTensors:
    """One file of the safetensors format: a JSON header, then raw little-endian arrays."""

    def __init__(self, path: Path) -> None:
        """Raises UnsupportedModelError where the file is damaged."""
        try:
            with path.open("rb") as file:
                # OpenVINO takes only arrays that it could write to
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            length = int.from_bytes(self._map[:8], "little")
            self._header: dict[str, Any] = dict(json.loads(self._map[8 : 8 + length]))
            self._start = 8 + length
            self.metadata: dict[str, str] = self._header.pop("__metadata__", {})
            whole = self._start + max((entry["data_offsets"][1] for entry in self._header.values()), default=0)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnsupportedModelError(f"{path.name} cannot be read ({error})") from error
        if len(self._map) < whole:
            raise UnsupportedModelError(f"{path.name} is cut short: {len(self._map)} of {whole} bytes are there")

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._header)

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def tensor(self, name: str) -> Stored:
        """Views the file: valid as long as the array lives.

        Raises UnsupportedModelError where it is missing, or stored in an unknown format.
        """
        if name not in self:
            raise _missing(name)
        entry = self._header[name]
        kind, (begin, end) = entry["dtype"], entry["data_offsets"]
        if kind not in _NUMPY:
            raise UnsupportedModelError(f"{name} is stored as {kind}, known are {', '.join(_NUMPY)}")
        flat = np.frombuffer(self._map, np.uint8, end - begin, self._start + begin)
        return Stored(flat.view(_NUMPY[kind]).reshape(entry["shape"]), kind == "BF16")

    def release(self) -> None:
        """Lets the system take back the memory of pages read so far; they are read again when touched."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class ModelWeights:
    """All tensors of a folder, whether it has one file or several."""

    def __init__(self, folder: Path) -> None:
        """Raises UnsupportedModelError where there are none."""
        self._files = [SafeTensors(path) for path in _paths(folder)]
        self._home = {name: file for file in self._files for name in file.names}

    def __contains__(self, name: str) -> bool:
        return name in self._home

    def tensor(self, name: str) -> Stored:
        """Raises UnsupportedModelError where the folder lacks it."""
        if name not in self:
            raise _missing(name)
        return self._home[name].tensor(name)

    def release(self) -> None:
        """As `SafeTensors.release`."""
        for file in self._files:
            file.release()


def _missing(name: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"the weight {name} is missing; pull the model again")


def _paths(folder: Path) -> list[Path]:
    if (folder / INDEX).is_file():
        try:
            index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
            return [folder / name for name in sorted(set(index["weight_map"].values()))]
        except (ValueError, KeyError) as error:
            raise UnsupportedModelError(f"{INDEX} cannot be read ({error})") from error
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    raise UnsupportedModelError(f"there is no model.safetensors in {folder}")
