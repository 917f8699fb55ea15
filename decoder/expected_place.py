"""Where the decoder will put a model, for all that can be told without loading it; for `draftline doctor`."""

from contextlib import suppress
from dataclasses import replace

from decoder import installed
from decoder.assemble import model_folder
from decoder.config import DecoderConfig
from decoder.engine import EngineError
from decoder.fallback import fallback
from decoder.loading import Place, choose_place, place_without_gpu
from decoder.models.catalog import CatalogError
from decoder.models.store import ModelStoreError
from decoder.openvino_engine.fault import import_fault
from decoder.openvino_engine.shape import LlamaShape, UnsupportedModelError
from decoder.plan.errors import NoRoomError, PlanError
from decoder.plan.found import found_host, num_gpus

_INSTALL = "pip install 'draftline[openvino]'"
_REINSTALL = "pip install --force-reinstall --no-deps openvino"
"""Without what it depends on, so that nothing else is replaced."""


def expected_place(config: DecoderConfig) -> Place:
    """That of the target. Raises EngineError where the settings leave none."""
    place = choose_place(config)
    if config.device == "auto" and place.device != "cpu":
        with suppress(ImportError):  # told with the device
            place = place if num_gpus() else place_without_gpu(config)
    obstacle = _obstacle(config, config.model) if place.engine == "openvino" else ""
    if not obstacle:
        return place
    note = f"openvino {obstacle}; it would be several times faster"
    try:
        return _instead(config, note)
    except NoRoomError:  # told with the device
        return Place("torch", "cpu", "float32", note)


def draft_obstacle(config: DecoderConfig, target: Place) -> str:
    """Why the draft model will not draft beside the target at `target`; "" where nothing is known to be in the way.

    Raises EngineError where the settings leave it no place.
    """
    if target.device != "cpu" or choose_place(replace(config, device="cpu")).engine != "openvino":
        return ""
    obstacle = _obstacle(config, config.draft_model)
    try:
        if obstacle:
            _instead(replace(config, model=config.draft_model), "")
    except NoRoomError as error:
        return f"openvino {obstacle}, and torch has no room for it: {error}"
    return ""


def _obstacle(config: DecoderConfig, model: str) -> str:
    """As `_unfit`. Raises EngineError where the settings insist on openvino."""
    obstacle = _unfit(model)
    if obstacle and config.engine == "openvino":
        raise EngineError(f"engine = 'openvino' {obstacle}, or set engine = 'auto'")
    return obstacle


def _unfit(model: str) -> str:
    """Why openvino will not run a model, and the remedy; "" where nothing is known to be in the way."""
    if installed("openvino") == "missing":
        return f"is not installed: {_INSTALL}"
    if fault := import_fault():
        return f"cannot be imported ({fault}): {_REINSTALL}=={installed('openvino')}"
    try:
        LlamaShape.read(model_folder(model))
    except UnsupportedModelError as error:
        return f"cannot run {model} ({error}): choose another model"
    except (CatalogError, ModelStoreError):  # told with the model
        pass
    return ""


def _instead(config: DecoderConfig, note: str) -> Place:
    """On torch, in the precision that loading would choose at this moment. Raises NoRoomError where it has no room."""
    try:
        found = fallback(config.model, model_folder(config.model), config.context_tokens, found_host())
    except (CatalogError, ModelStoreError, PlanError):  # told with the model and with the device
        return Place("torch", "cpu", "float32", note)
    return Place("torch", "cpu", found.dtype, ", ".join(filter(None, (note, found.note))))
