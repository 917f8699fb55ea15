"""Where the models of a configuration go: beside each other on a CPU, by the memory plan on GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from decoder import installed
from decoder.config import DecoderConfig, Dtype
from decoder.engine import EngineError
from decoder.loading import Place, choose_place, place_without_gpu
from decoder.plan.devices import Device
from decoder.plan.errors import NoRoomError, PlanError
from decoder.plan.footprint import Footprint
from decoder.plan.found import found_devices
from decoder.plan.pair import Pair
from decoder.plan.plan import plan
from decoder.plan.precision import Precision
from decoder.plan.sentences import sentences


@dataclass(frozen=True, slots=True)
class Arrangement:
    """target, draft: their places; draft is None where no draft model is wanted, or none has room.

    notes: what a person should know of it.
    """

    target: Place
    draft: Place | None
    context_tokens: int
    notes: tuple[str, ...] = ()


def arrange(config: DecoderConfig) -> Arrangement:
    """Raises EngineError where the settings contradict each other, or the pair has no room on the GPUs."""
    place = choose_place(config)
    if place.device == "cpu":
        return _on_cpu(config, place)
    devices = _meant(place.device, found_devices())
    if not devices or devices[0].kind == "cpu":
        if config.device == "auto":
            return _on_cpu(config, place_without_gpu(config))
        raise EngineError(f"device = {config.device!r}, but torch finds no such GPU; run `draftline doctor`")
    try:
        planned = plan(Pair.of(config.model, config.draft_model), devices, config.context_tokens, _precisions(config))
    except NoRoomError as error:
        raise EngineError(str(error)) from error
    except PlanError:  # an architecture whose needs are not known: it may fit all the same
        return Arrangement(place, _beside(config, place), config.context_tokens)
    target = replace(place, device=planned.target_device, dtype=_dtype(planned.choice.target))
    draft = None
    if planned.choice.draft and planned.draft_device:
        draft_device = config.draft_device if config.draft_device != "auto" else planned.draft_device
        draft = Place("torch", draft_device, _dtype(planned.choice.draft))
    return Arrangement(target, draft, planned.context_tokens, sentences(planned))


def _on_cpu(config: DecoderConfig, place: Place) -> Arrangement:
    if config.draft_model and config.draft_device not in ("auto", "cpu"):
        raise EngineError(
            f"draft_device = {config.draft_device!r}, but the target runs on the CPU, where the draft model has to be"
            " beside it: set draft_device = 'auto'"
        )
    return Arrangement(place, _beside(config, place), config.context_tokens)


def _beside(config: DecoderConfig, place: Place) -> Place | None:
    """Where the draft model runs without a plan."""
    if not config.draft_model:
        return None
    return replace(place, device=place.device if config.draft_device == "auto" else config.draft_device, note="")


def _meant(device: str, found: Sequence[Device]) -> list[Device]:
    """Those of the machine that a setting means: `cuda` and `spread` all of them, `cuda:N` one."""
    return [each for each in found if device in ("cuda", "spread") or each.name == device]


def _precisions(config: DecoderConfig) -> tuple[Precision, ...]:
    """Those that the settings allow and the libraries here can load, the best first."""
    if config.dtype != "auto":
        return (cast(Precision, config.dtype),)
    return ("bfloat16",) if installed("torchao") == "missing" else ("bfloat16", "int8", "int4")


def _dtype(footprint: Footprint) -> Dtype:
    """What the loader is told. A checkpoint that is quantised already is loaded as it is."""
    return footprint.dtype if footprint.quantisation == "none" else footprint.quantisation
