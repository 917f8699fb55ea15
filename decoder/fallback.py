"""How torch takes over a model on a CPU that openvino cannot run: in float32 where that has room, else in bfloat16.

Float32 first, because without instructions for bfloat16 torch takes several times as long in it (docs/experiments.md).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from decoder.plan.choice import Choice
from decoder.plan.devices import Device
from decoder.plan.errors import NoRoomError, PlanError
from decoder.plan.footprint import Footprint
from decoder.plan.model_config import shape_in
from decoder.plan.pair import Pair
from decoder.plan.placement import needed_bytes
from decoder.plan.plan import plan
from decoder.plan.shape import ModelShape
from decoder.plan.wording import gib, named


@dataclass(frozen=True, slots=True)
class Fallback:
    """What is loaded. note: what it is less than wished for, and why; "" where it is float32 and all of the context."""

    dtype: Literal["float32", "bfloat16"]
    context_tokens: int
    note: str = ""


def fallback(name: str, folder: Path, context_tokens: int, host: Device) -> Fallback:
    """The most exact that fits what is free of the host's memory. Raises NoRoomError where nothing does."""
    try:
        shape = shape_in(folder, name)
    except PlanError:  # an architecture whose needs are not known
        return _by_weights(name, folder, context_tokens, host)
    return _planned(shape, context_tokens, host)


def _planned(shape: ModelShape, context_tokens: int, host: Device) -> Fallback:
    try:
        made = plan(Pair(shape, None), (host,), context_tokens, ("float32", "bfloat16"))
    except NoRoomError as error:  # its advice, to quantise, is for other engines than torch on a CPU
        raise _no_room(shape.name, "it needs", error.needed_bytes, host) from error
    dtype = made.choice.target.dtype
    if dtype == "float32" or shape.stored:
        return Fallback(dtype, context_tokens)
    needed = needed_bytes(Choice(Footprint(shape, "float32"), None), (host,), context_tokens)
    note = _in_bfloat16(needed, host)
    if made.context_tokens < min(context_tokens, shape.context_length):
        note = f"{note}, and with {made.context_tokens:,} tokens of context, for which there is room"
    return Fallback(dtype, made.context_tokens, note)


def _by_weights(name: str, folder: Path, context_tokens: int, host: Device) -> Fallback:
    """By the weights alone, which are published in 16 bits."""
    stored = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    if 2 * stored <= host.usable_bytes:
        return Fallback("float32", context_tokens)
    if stored <= host.usable_bytes:
        return Fallback("bfloat16", context_tokens, _in_bfloat16(2 * stored, host))
    raise _no_room(name, "its weights alone take", stored, host)


def _no_room(name: str, what: str, needed: int, host: Device) -> NoRoomError:
    return NoRoomError(
        f"{name} does not fit {named([host])}: {what} {gib(needed)} in bfloat16, and {gib(host.usable_bytes)} can be"
        " used; choose a smaller model",
        needed_bytes=needed,
        available_bytes=host.usable_bytes,
    )


def _in_bfloat16(needed: int, host: Device) -> str:
    return f"in bfloat16, as float32 needs {gib(needed)} and {gib(host.usable_bytes)} can be used"
