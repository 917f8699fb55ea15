"""Where the models of a configuration go: beside each other on a CPU, by the memory plan on GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from decoder import installed
from decoder.config import DecoderConfig, Dtype
from decoder.engine import EngineError
from decoder.loading import Place, choose_place
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
    beside = replace(place, device=_draft_device(config, place)) if config.draft_model else None
    if place.device == "cpu":
        return Arrangement(place, beside, config.context_tokens)
    devices = _meant(place.device, found_devices())
    if not devices or devices[0].kind == "cpu":
        raise EngineError(f"device = {config.device!r}, but torch finds no such GPU; run `draftline doctor`")
    try:
        planned = plan(Pair.of(config.model, config.draft_model), devices, config.context_tokens, _precisions(config))
    except NoRoomError as error:
        raise EngineError(str(error)) from error
    except PlanError:  # an architecture whose needs are not known: it may fit all the same
        return Arrangement(place, beside, config.context_tokens)
    target = replace(place, device=planned.target_device, dtype=_dtype(planned.choice.target))
    draft = None
    if planned.choice.draft and planned.draft_device:
        draft_device = config.draft_device if config.draft_device != "auto" else planned.draft_device
        draft = Place("torch", draft_device, _dtype(planned.choice.draft))
    return Arrangement(target, draft, planned.context_tokens, sentences(planned))


def _draft_device(config: DecoderConfig, place: Place) -> str:
    return place.device if config.draft_device == "auto" else config.draft_device


def _meant(device: str, found: Sequence[Device]) -> list[Device]:
    """Those of the machine that a setting means: `cuda` and `spread` all of them, `cuda:N` one."""
    return [each for each in found if device in ("cuda", "spread") or each.name == device]


def _precisions(config: DecoderConfig) -> tuple[Precision, ...]:
    """Those that the settings allow and the libraries here can load, the best first."""
    if config.dtype != "auto":
        return (cast(Precision, config.dtype),)
    return ("bfloat16",) if installed("torchao") == "missing" else ("bfloat16", "int8", "int4")


def _dtype(footprint: Footprint) -> Dtype:
    """A checkpoint that is quantised already is loaded as it is."""
    return cast(Dtype, footprint.precision) if footprint.precision in ("float32", "int8", "int4") else "bfloat16"
