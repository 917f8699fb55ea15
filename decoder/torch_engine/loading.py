"""A model folder into a transformers model on its devices, without any network access."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from decoder.torch_engine.device_memory import naming_memory
from decoder.torch_engine.masks import Masks
from decoder.torch_engine.placement import Placement
from decoder.torch_engine.quantisation import Quantisation, quantisation_arguments

_FAULTS = (OSError, ValueError, RuntimeError, KeyError, ImportError, SafetensorError)


class ModelLoadError(Exception):
    """A model folder that cannot be used; the text names it and the remedy."""


def load_model(folder: Path, *, name: str, dtype: str, device: str, quantisation: Quantisation) -> Any:
    """A causal language model in evaluation mode. For the arguments see `TorchModel.load`.

    Raises ModelLoadError for a folder that holds no such model, or a device or library that is missing;
    DeviceMemoryError where it does not fit.
    """
    try:
        placement = Placement.parse(device)
        with naming_memory(torch.device(placement.first), f"the weights of {name}"), _quiet():
            return _load(folder, getattr(torch, dtype), placement, quantisation)
    except _FAULTS as error:
        raise ModelLoadError(f"cannot load {name} from {folder} on {device}: {_first_line(error)}") from error


def _load(folder: Path, dtype: torch.dtype, placement: Placement, quantisation: Quantisation) -> Any:
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    Masks(config)  # refuses what cannot be rewound, before it is loaded
    arguments = quantisation_arguments(quantisation, config, dtype, placement.first)
    mapped = placement.single is None or "cuda" in placement.single or "quantization_config" in arguments
    if mapped and find_spec("accelerate"):
        arguments["device_map"] = placement.device_map(config.num_hidden_layers, tied=config.tie_word_embeddings)
    elif placement.single is None or quantisation != "none":
        raise ImportError("several devices and quantised weights need accelerate: pip install 'draftline[gpu]'")
    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        folder, config=config, local_files_only=True, output_loading_info=True, **arguments
    )
    _require_all_weights(report["missing_keys"])
    if "device_map" not in arguments:
        model = model.to(placement.single)
    if placement.single == "cpu":
        _own_memory(model)
    return model.eval()


def _own_memory(model: Any) -> None:
    """Copies weights out of the mapped file into memory that can lie on huge pages: read twice as fast."""
    for parameter in model.parameters():
        if type(parameter.data) is torch.Tensor:  # packed weights are a tensor class of their library, and new anyway
            parameter.data = parameter.data.clone()


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
