"""Why a pair cannot be loaded, with the figures, and what would work instead."""

from collections.abc import Sequence
from dataclasses import replace

from decoder.plan.choice import Choice, choices
from decoder.plan.devices import GIB, Device
from decoder.plan.errors import NoRoomError
from decoder.plan.footprint import Footprint
from decoder.plan.known_shapes import KNOWN_SHAPES
from decoder.plan.pair import Pair
from decoder.plan.placement import LEAST_CONTEXT, needed_bytes, place
from decoder.plan.precision import LADDERS, Precision
from decoder.plan.wording import gib, named

_MOST_DEVICES = 16


def refusal(
    smallest: Choice, devices: Sequence[Device], asked_tokens: int, precisions: Sequence[Precision]
) -> NoRoomError:
    """The error for a pair of which even the `smallest` choice does not fit `devices` with the least context."""
    target = smallest.target
    context_tokens = min(asked_tokens, LEAST_CONTEXT)
    needed = needed_bytes(smallest, devices, context_tokens)
    usable = sum(device.usable_bytes for device in devices)
    excess = f"{gib(needed - usable)} too little" if needed > usable else "but in pieces that are too small"
    workspace = needed - target.weights_bytes - target.kv_bytes(context_tokens)
    figures = (
        f"weights {gib(target.weights_bytes)}, KV of {context_tokens:,} tokens {gib(target.kv_bytes(context_tokens))},"
        f" workspace {gib(workspace)}"
    )
    remedies = [
        _freed_memory(smallest, devices, context_tokens),
        _lower_precision(smallest, devices, context_tokens),
        _more_devices(smallest, devices, context_tokens),
        _smaller_pair(target.shape.parameters, devices, asked_tokens, precisions),
    ]
    return NoRoomError(
        f"{target.shape.name} does not fit {named(devices)}: even alone in {target.precision} it needs {gib(needed)}"
        f" ({figures}), and {gib(usable)} can be used, {excess}."
        f" Choose {'; or '.join(filter(None, remedies)) or 'a smaller model'}.",
        needed_bytes=needed,
        available_bytes=usable,
    )


def _freed_memory(smallest: Choice, devices: Sequence[Device], context_tokens: int) -> str:
    used = sum(device.used_bytes for device in devices)
    if used and place(smallest, [replace(device, used_bytes=0) for device in devices], context_tokens):
        return f"to end other processes, which hold {gib(used)}"
    return ""


def _lower_precision(smallest: Choice, devices: Sequence[Device], context_tokens: int) -> str:
    """Where the settings or the checkpoint leave less choice than there is."""
    for precision in LADDERS[devices[0].kind == "cpu"]:
        lower = Choice(Footprint(smallest.target.shape, precision), None)
        if lower.target.weights_bytes < smallest.target.weights_bytes and place(lower, devices, context_tokens):
            return f"lower precision: {precision} fits, {gib(lower.target.weights_bytes)} of weights"
    return ""


def _more_devices(smallest: Choice, devices: Sequence[Device], context_tokens: int) -> str:
    like = replace(devices[-1], used_bytes=0)
    if like.kind == "cpu":
        return _more_memory(smallest, like, context_tokens)
    for more in range(1, _MOST_DEVICES):
        extended = [*devices, *[like] * more]
        if place(smallest, extended, context_tokens):
            return f"more devices: {named(extended)} would do"
    return ""


def _more_memory(smallest: Choice, host: Device, context_tokens: int) -> str:
    reserved = host.reserve_bytes / host.memory_bytes
    enough = -(-needed_bytes(smallest, [host], context_tokens) // int(GIB * (1 - reserved))) + 1
    return f"more memory: cpu:{enough} would do"


def _smaller_pair(
    parameters: int, devices: Sequence[Device], context_tokens: int, precisions: Sequence[Precision]
) -> str:
    """The largest pair of the catalog that fits, with its draft model where it has one."""
    smaller = [shape for shape in KNOWN_SHAPES.values() if shape.parameters < parameters]
    for shape in sorted(smaller, key=lambda shape: -shape.parameters):
        pair = Pair.parse(shape.name)
        for choice in choices(pair, precisions):
            if (choice.draft or not pair.draft) and place(choice, devices, context_tokens):
                return f"a smaller pair: {pair.name} fits, in {choice.target.precision}"
    return ""
