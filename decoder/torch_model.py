"""A causal language model of transformers behind `extend` and `rewind`: the reference engine, and the one on CUDA."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers.cache_utils import Cache, CacheLayerMixin

from decoder.config import Dtype
from drafting.interface import Array, Vocabulary


class ModelLoadError(Exception):
    """A model folder that cannot be used; the text names it and the remedy."""


class TorchModel:
    """One sequence on one model, with keys and values in memory allocated once.

    Logits come as numpy on CPU and as torch tensors on CUDA.
    """

    def __init__(self, model: Any, *, name: str, vocabulary: Vocabulary, context_length: int) -> None:
        """`model` is a transformers causal language model in evaluation mode, already on its devices."""
        self.name = name
        self.vocabulary = vocabulary
        self.context_length = min(context_length, int(model.config.max_position_embeddings))
        self._model = model
        self._device = model.get_input_embeddings().weight.device
        self._layers = [_PreallocatedLayer(self.context_length) for _ in range(model.config.num_hidden_layers)]
        self._cache = Cache(layers=list(self._layers))
        self._length = 0

    @staticmethod
    def load(
        folder: Path, *, name: str, vocabulary: Vocabulary, context_length: int, dtype: Dtype, device: str
    ) -> "TorchModel":
        """Reads a folder as `save_pretrained` writes it, without any network access.

        device: `cpu`, `cuda`, `cuda:N`, or `spread` for a large model over all GPUs (needs accelerate).
        Raises ModelLoadError for a folder that holds no such model, or one that does not fit the device.
        """
        placement = {"device_map": "auto"} if device == "spread" else {}
        try:
            with _quiet():
                model, report = transformers.AutoModelForCausalLM.from_pretrained(
                    folder, dtype=getattr(torch, dtype), local_files_only=True, output_loading_info=True, **placement
                )
                _require_all_weights(report["missing_keys"])
                model = model if placement else model.to(device)
        except (OSError, ValueError, RuntimeError, KeyError, ImportError, SafetensorError) as error:
            raise ModelLoadError(f"cannot load {name} from {folder} on {device}: {_first_line(error)}") from error
        return TorchModel(model.eval(), name=name, vocabulary=vocabulary, context_length=context_length)

    def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
        """As `LanguageModel.extend`. Raises ValueError where the tokens do not fit, or there are none."""
        if not tokens or self._length + len(tokens) > self.context_length:
            raise ValueError(
                f"{len(tokens)} tokens after {self._length} do not fit a window of {self.context_length} tokens"
            )
        ids = torch.tensor([list(tokens)], device=self._device)
        num_rows = len(tokens) if last is None else max(1, last)
        try:
            with torch.inference_mode():
                output = self._model(input_ids=ids, cache=self._cache, use_cache=True, logits_to_keep=num_rows)
        except BaseException:
            self.rewind(self._length)
            raise
        self._length += len(tokens)
        logits = output.logits[0, :, : self.vocabulary.size].float()
        if last == 0:
            logits = logits[:0]
        return logits.numpy() if logits.device.type == "cpu" else logits

    def rewind(self, length: int) -> None:
        """As `LanguageModel.rewind`. Raises ValueError for a length beyond what is held."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot rewind to {length} tokens, {self._length} are held")
        for layer in self._layers:
            layer.length = length
        self._length = length


class _PreallocatedLayer(CacheLayerMixin):  # type: ignore[misc]  # transformers is not checked
    """Keys and values [1, heads, capacity, head_dim] allocated at first use; `length` of them are valid."""

    is_sliding = False
    is_croppable = True

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = key_states.new_empty((*key_states.shape[:-2], self.capacity, key_states.shape[-1]))
        self.values = value_states.new_empty((*value_states.shape[:-2], self.capacity, value_states.shape[-1]))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[-2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        return self.length

    def get_max_length(self) -> int:
        return self.capacity


def _require_all_weights(missing: Collection[str]) -> None:
    """transformers fills weights that a folder does not hold with random numbers."""
    if missing:
        raise ValueError(f"{len(missing)} of its weights are missing ({min(missing)}); pull the model again")


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars or notices of the library on our terminal; errors still raise."""
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        transformers.logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
