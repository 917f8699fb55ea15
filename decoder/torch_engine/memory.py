"""Running out of memory: an error that says what to change, and what is given up first. Pure, no torch."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

_Loaded = TypeVar("_Loaded")
_GB = 1e9


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """Bytes of one device: in all, free, and held by this process."""

    total: int
    free: int
    held: int

    def __str__(self) -> str:
        total, free, held = (f"{num_bytes / _GB:.1f}" for num_bytes in (self.total, self.free, self.held))
        return f"{total} GB in all, {free} free, {held} held by the decoder"


class DeviceMemoryError(Exception):
    """A device has no room for what was asked. What was held before, the cache included, is unchanged."""

    def __init__(self, device: str, purpose: str, figures: MemoryFigures | None, detail: str) -> None:
        """purpose: what the memory was for. detail: one line of the allocator, with the size it was asked for."""
        self.device = device
        known = f" ({figures})" if figures else ""
        super().__init__(
            f"{device} has no memory left for {purpose}{known}: {detail}; lower context_tokens, choose a smaller dtype"
            " (int8, int4), or unset draft_model in config.toml"
        )


@dataclass(frozen=True, slots=True)
class Demand:
    """The settings that decide how much memory is taken and that can be changed without another model.

    draft_model: its name, empty for none. draft_device: where it is if not beside the target, else empty.
    """

    context_tokens: int
    draft_model: str = ""
    draft_device: str = ""


@dataclass(frozen=True, slots=True)
class Degraded:
    """What is left after something was given up, and the sentence that tells it."""

    demand: Demand
    sentence: str


def degrade(now: Demand, device: str, *, least_context: int) -> Degraded | None:
    """Gives up one thing so that less memory is needed on `device`; None where nothing is left to give up.

    First the draft model, if it lives there: texts only come later. Then half the context, down
    to `least_context` tokens.

    >>> degrade(Demand(4096, "llama3-8b"), "cuda:0", least_context=1024).demand
    Demand(context_tokens=4096, draft_model='', draft_device='')
    """
    if now.draft_model and now.draft_device in ("", device):
        return Degraded(
            replace(now, draft_model="", draft_device=""),
            f'{device} is full: {now.draft_model} does not draft; set draft_model to a smaller model, or to ""',
        )
    context = max(least_context, now.context_tokens // 2)
    if context >= now.context_tokens:
        return None
    return Degraded(
        replace(now, context_tokens=context),
        f"{device} is full: the context is {context} tokens instead of {now.context_tokens};"
        f' set context_tokens = {context}, or dtype = "int8"',
    )


def settle(
    load: Callable[[Demand], _Loaded], wanted: Demand, *, least_context: int, say: Callable[[str], None]
) -> tuple[_Loaded, Demand]:
    """Loads with `wanted`, or with as little less as fits; every step down is said. Returns what fitted as well.

    Raises DeviceMemoryError, of the last try, where even the least does not fit.
    """
    while True:
        try:
            return load(wanted), wanted
        except DeviceMemoryError as error:
            less = degrade(wanted, error.device, least_context=least_context)
            if less is None:
                raise
        gc.collect()  # what the failed try held, before the next one asks
        say(less.sentence)
        wanted = less.demand
