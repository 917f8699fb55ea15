"""The plan that the loader obeys: precision, placement and context of a pair on given devices. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from decoder.plan.choice import Choice, choices
from decoder.plan.devices import Device
from decoder.plan.pair import Pair
from decoder.plan.placement import Load, most_context, place, tokens_per_s
from decoder.plan.precision import LADDERS, Precision
from decoder.plan.refusal import refusal


@dataclass(frozen=True, slots=True)
class Plan:
    """What to load, and where.

    choice: target and draft with their precisions; choice.draft is None where the draft model stays off.
    context_tokens: as asked, or less. most_context_tokens: what would fit with this choice.
    loads: the devices in use; the target's layers lie on them in this order.
    """

    pair: Pair
    devices: tuple[Device, ...]
    choice: Choice
    context_tokens: int
    most_context_tokens: int
    loads: tuple[Load, ...]

    @property
    def precision(self) -> Precision:
        """Of the target."""
        return self.choice.target.precision

    @property
    def draft_precision(self) -> Precision | None:
        """None: the draft model is off."""
        return self.choice.draft.precision if self.choice.draft else None

    @property
    def target_layers(self) -> tuple[tuple[str, int], ...]:
        """(device, layers) in the order of the layers: the embedding lies on the first, the head on the last."""
        return tuple((load.device.name, load.layers) for load in self.loads if load.target_bytes)

    @property
    def target_device(self) -> str:
        """As the loader takes it: `cpu`, `cuda:0`, or layers by device, as `cuda:0=35,cuda:1=45`."""
        if len(self.target_layers) == 1:
            return self.target_layers[0][0]
        return ",".join(f"{device}={layers}" for device, layers in self.target_layers)

    @property
    def draft_device(self) -> str | None:
        return next((load.device.name for load in self.loads if load.draft_bytes), None)

    @property
    def tokens_per_s(self) -> float:
        """What plain decoding cannot exceed; 0: not known."""
        return tokens_per_s(self.choice.target, self.loads)


def plan(pair: Pair, devices: Sequence[Device], context_tokens: int, precisions: Sequence[Precision] = ()) -> Plan:
    """The best plan: with the draft model, the target as precise as fits, then the draft model as precise as fits.

    The draft model is given up only where no precision has room for both, and the context is shortened only where
    that is not enough. precisions: those that can be loaded, the best first; by default all that the devices suit.
    A checkpoint that is quantised already keeps its precision. More devices never make a plan worse.

    Raises NoRoomError with what is needed, what there is, and what would work.
    """
    asked = min(context_tokens, pair.target.context_length)
    ladder = tuple(precisions) or LADDERS[devices[0].kind == "cpu"]
    possible = list(choices(pair, ladder))
    for choice in possible:
        if loads := place(choice, devices, asked):
            return Plan(pair, tuple(devices), choice, asked, max(asked, most_context(choice, devices)), loads)
    smallest = possible[-1]
    shortened = most_context(smallest, devices)
    if shortened and (loads := place(smallest, devices, shortened)):
        return Plan(pair, tuple(devices), smallest, shortened, shortened, loads)
    raise refusal(smallest, devices, asked, ladder)
