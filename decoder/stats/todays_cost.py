"""What a target's passes cost on this machine, as far as an earlier start of the decoder has measured it."""

from collections.abc import Iterator
from dataclasses import replace

from decoder.arrange import arrange
from decoder.assemble import model_folder
from decoder.config import DecoderConfig
from decoder.cost import PassCost
from decoder.engine import EngineError
from decoder.loading import Place, cache_folder
from decoder.models.catalog import CatalogError
from decoder.models.store import ModelStoreError
from decoder.remembered import Remembered, circumstances


def todays_cost(config: DecoderConfig, model: str) -> PassCost | None:
    """With these settings, libraries and devices; None where the model was never started with them.

    Memory that a running decoder holds on a GPU may change where the model would go, and so hide what is known.
    """
    config = replace(config, model=model)
    try:
        folder = model_folder(model)
        arranged = arrange(config)
        config = replace(config, context_tokens=arranged.context_tokens)
        remembered = Remembered(cache_folder() / "exactness.json")
        found = (remembered.find(circumstances(str(place), config, folder)) for place in _places(arranged.target))
        return next((each.cost for each in found if each), None)
    except (CatalogError, EngineError, ModelStoreError, OSError):  # it is not here any more, or has no room
        return None


def _places(place: Place) -> Iterator[Place]:
    """Where it goes, and where it goes instead if openvino cannot run it."""
    yield place
    if place.engine == "openvino":
        yield Place("torch", "cpu", "float32")
        yield Place("torch", "cpu", "bfloat16")
