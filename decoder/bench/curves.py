"""What passes of the target cost in a replay: named tables, and what was measured on this machine."""

from decoder.arrange import arrange
from decoder.assemble import model_folder
from decoder.config import DecoderConfig
from decoder.cost import PassCost
from decoder.engine import EngineError
from decoder.loading import cache_folder
from decoder.models.catalog import CatalogError
from decoder.models.store import ModelStoreError
from decoder.remembered import Remembered, circumstances

MEASURED = "measured"
CURVES = {
    "flat": PassCost((1, 8, 16, 32), (28.0, 32.0, 34.0, 44.0)),
    "int8": PassCost((1, 8, 16, 32), (22.0, 35.0, 37.0, 45.0)),
    "int4": PassCost((1, 8, 16, 32), (24.0, 47.0, 49.0, 55.0)),
    "linear": PassCost((1, 33), (1.0, 12.2)),
}
"""The starter on two cores with a matrix unit behind 600 tokens of context: float16 weights (flat), int8 and int4.
linear: 1 + 0.35 gamma, where rows are dear."""


def measured_here(config: DecoderConfig) -> PassCost:
    """What an earlier start of the decoder measured for the model of `config` on this machine; loads nothing.

    Raises EngineError where none did.
    """
    place = arrange(config).target
    try:
        folder = model_folder(config.model)
    except (CatalogError, ModelStoreError) as error:
        raise EngineError(str(error)) from error
    found = Remembered(cache_folder() / "exactness.json").find(circumstances(str(place), config, folder))
    if found is None:
        raise EngineError(
            f"what passes of {config.model} cost on {place} was not measured on this machine yet: run"
            f" `draftline bench TASKS --limit 1` once, or name another --cost ({', '.join(CURVES)})"
        )
    return found.cost
