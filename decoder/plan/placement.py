"""Which device holds what: whole layers of the target over as few devices as do, the draft model on one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from decoder.plan.choice import Choice
from decoder.plan.devices import Device
from decoder.plan.footprint import CONTEXT_BYTES, Footprint

LEAST_CONTEXT = 512  # tokens; with less, a prompt says too little


@dataclass(frozen=True, slots=True)
class Load:
    """What lies on one device, in bytes. layers: how many of the target's, in the order of the loads."""

    device: Device
    layers: int = 0
    target_bytes: int = 0
    draft_bytes: int = 0
    kv_bytes: int = 0
    workspace_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        return self.target_bytes + self.draft_bytes + self.kv_bytes + self.workspace_bytes

    @property
    def free_bytes(self) -> int:
        """What may still be filled; negative where it is too much."""
        return self.device.usable_bytes - self.total_bytes

    def with_layers(self, layers: int, target: Footprint, context_tokens: int) -> "Load":
        """The same with so many layers of the target more."""
        return replace(
            self,
            layers=self.layers + layers,
            target_bytes=self.target_bytes + layers * target.layer_bytes,
            kv_bytes=self.kv_bytes + layers * target.layer_kv_bytes(context_tokens),
        )


def place(choice: Choice, devices: Sequence[Device], context_tokens: int) -> tuple[Load, ...] | None:
    """The loads of the devices in use, the target's in the order of its layers, or None where it does not fit.

    The target takes as few devices as hold it, those with most room first. The draft model has the next one to
    itself, if there is one with room for it; else it lies beside the target where most room is.
    """
    ordered = sorted(devices, key=lambda device: -device.usable_bytes)
    for num_devices in range(1, len(ordered) + 1):
        for home in _homes(choice, num_devices, len(ordered)):
            loads = _spread(choice, ordered, num_devices, home, context_tokens)
            if loads is not None:
                return loads
    return None


def needed_bytes(choice: Choice, devices: Sequence[Device], context_tokens: int) -> int:
    """What it would take on all of `devices` together, whether or not they have it."""
    loads = _empty(choice, devices, len(devices), 0, context_tokens)
    layers = loads[0].with_layers(choice.target.shape.layers, choice.target, context_tokens)
    return layers.total_bytes + sum(load.total_bytes for load in loads[1:])


def most_context(choice: Choice, devices: Sequence[Device]) -> int:
    """The longest context, in tokens, that can be placed; 0 if that is less than LEAST_CONTEXT."""
    low, high = LEAST_CONTEXT - 1, choice.target.shape.context_length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if place(choice, devices, middle) else (low, middle - 1)
    return low if low >= LEAST_CONTEXT else 0


def tokens_per_s(target: Footprint, loads: Sequence[Load]) -> float:
    """An upper bound of plain decoding: each token reads all weights but the embedding; 0 where it is not known.

    Devices take turns, so that more of them are not faster. Reading keys and values is left out.
    """
    parts = [load for load in loads if load.target_bytes]
    if not all(load.device.bytes_per_s for load in parts):
        return 0.0
    read = [load.layers * target.layer_bytes for load in parts]
    read[-1] += target.read_last_bytes
    return 1 / sum(num_bytes / load.device.bytes_per_s for num_bytes, load in zip(read, parts, strict=True))


def _homes(choice: Choice, num_devices: int, num_all: int) -> Iterator[int]:
    """Where the draft model may live: a device of its own, else each of the target's."""
    if choice.draft is None:
        yield -1
        return
    if num_devices < num_all:
        yield num_devices
    yield from range(num_devices)


def _spread(
    choice: Choice, ordered: Sequence[Device], num_devices: int, home: int, context_tokens: int
) -> tuple[Load, ...] | None:
    loads = _empty(choice, ordered[: max(num_devices, home + 1)], num_devices, home, context_tokens)
    if any(load.free_bytes < 0 for load in loads):
        return None
    layer_bytes = choice.target.layer_bytes + choice.target.layer_kv_bytes(context_tokens)
    counts = _split(choice.target.shape.layers, layer_bytes, [load.free_bytes for load in loads[:num_devices]])
    if counts is None:
        return None
    return tuple(
        load.with_layers(count, choice.target, context_tokens)
        for load, count in zip(loads, [*counts, 0][: len(loads)], strict=True)
    )


def _split(num_layers: int, layer_bytes: int, rooms: list[int]) -> list[int] | None:
    """One layer for each device, then one after the other to that with most room left; None where they don't fit."""
    capacities = [room // layer_bytes for room in rooms]
    if min(capacities) < 1 or sum(capacities) < num_layers or num_layers < len(rooms):
        return None
    counts = [1] * len(rooms)
    left = [room - layer_bytes for room in rooms]
    for _ in range(num_layers - len(rooms)):
        roomiest = max(range(len(left)), key=left.__getitem__)
        left[roomiest] -= layer_bytes
        counts[roomiest] += 1
    return counts


def _empty(choice: Choice, devices: Sequence[Device], num_devices: int, home: int, context_tokens: int) -> list[Load]:
    """The loads before any layer of the target is placed: its two ends, the draft model, and the workspaces."""
    target = choice.target
    ends = [0] * len(devices)
    ends[0] += target.embedding_bytes
    ends[num_devices - 1] += target.head_bytes
    return [
        _start(
            Load(device, target_bytes=ends[index]),
            target if index < num_devices else None,
            choice.draft if index == home else None,
            context_tokens,
            spread=num_devices > 1,
        )
        for index, device in enumerate(devices)
    ]


def _start(load: Load, target: Footprint | None, draft: Footprint | None, context_tokens: int, *, spread: bool) -> Load:
    """The load with the draft model and the workspace of those models that compute on its device."""
    graphs = load.device.kind != "cpu"
    workspace_bytes = CONTEXT_BYTES
    if target is not None:  # passes over several devices are not captured
        workspace_bytes += target.workspace_bytes(context_tokens, graphs=graphs and not spread)
    if draft is None:
        return replace(load, workspace_bytes=workspace_bytes)
    return replace(
        load,
        draft_bytes=draft.weights_bytes,
        kv_bytes=draft.kv_bytes(context_tokens),
        workspace_bytes=workspace_bytes + draft.workspace_bytes(context_tokens, graphs=graphs),
    )
