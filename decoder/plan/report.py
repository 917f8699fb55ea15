"""What `draftline doctor --plan` prints: the models, the choices, the devices."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from decoder.plan.choice import Choice, choices
from decoder.plan.devices import GIB, Device
from decoder.plan.footprint import Footprint
from decoder.plan.pair import Pair
from decoder.plan.placement import Load, most_context, needed_bytes, place, tokens_per_s
from decoder.plan.plan import Plan
from decoder.plan.precision import LADDERS, Precision
from decoder.plan.wording import gib

_ROWS: tuple[tuple[str, Precision], ...] = (
    ("float32", "float32"),
    ("bfloat16, float16", "bfloat16"),
    ("int8, float8", "int8"),
    ("int4, groups of 128", "int4"),
)


def models_table(pair: Pair, context_tokens: int) -> Table:
    """Weights by precision, keys and values: whatever the devices."""
    shapes = [shape for shape in (pair.target, pair.draft) if shape is not None]
    table = _table("", *(shape.name for shape in shapes))
    table.add_row("parameters", *(f"{shape.parameters / 1e9:,.3f} x 10^9" for shape in shapes))
    for title, precision in _ROWS:
        sizes = [Footprint(shape, precision).weights_bytes for shape in shapes]
        table.add_row(f"weights in {title}", *map(gib, sizes))
    models = [Footprint(shape, "bfloat16") for shape in shapes]
    table.add_row("KV of a token, 16 bits", *(f"{model.kv_token_bytes / 2**10:,.0f} KiB" for model in models))
    table.add_row(f"KV of {context_tokens:,} tokens", *(gib(model.kv_bytes(context_tokens)) for model in models))
    return table


def choices_table(pair: Pair, devices: Sequence[Device], context_tokens: int, chosen: Choice | None) -> Table:
    """What fits on the devices, by precision, with and without the draft model; the chosen row is marked."""
    table = _table("", "target", "draft", "needs", "verdict", "context up to", "at best tok/s plain")
    for choice in _shown(pair, devices, chosen):
        loads = place(choice, devices, context_tokens)
        longest = most_context(choice, devices)
        speed = tokens_per_s(choice.target, loads) if loads else 0.0
        table.add_row(
            ">" if choice == chosen else "",
            choice.target.precision,
            choice.draft.precision if choice.draft else "off",
            gib(_needed(choice, devices, context_tokens, loads)),
            "fits" if loads else _shortage(choice, devices, context_tokens),
            f"{longest:,}" if longest else "-",
            f"{speed:.0f}" if speed else "-",
        )
    return table


def devices_table(plan: Plan) -> Table:
    """What lies where, in GiB."""
    table = _table("device", "", "layers", "target", "draft", "KV", "workspace", "in use", "reserve", "free")
    loads = {load.device.name: load for load in plan.loads}
    for device in plan.devices:
        load = loads.get(device.name, Load(device))
        sizes = (
            load.target_bytes,
            load.draft_bytes,
            load.kv_bytes,
            load.workspace_bytes,
            device.used_bytes,
            device.reserve_bytes,
            load.free_bytes,
        )
        table.add_row(device.name, device.model, str(load.layers), *(f"{size / GIB:,.1f}" for size in sizes))
    return table


def _table(*headers: str) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False, collapse_padding=True)
    for number, header in enumerate(headers):
        table.add_column(header, justify="left" if number == 0 or not header else "right")
    return table


def _shown(pair: Pair, devices: Sequence[Device], chosen: Choice | None) -> Iterator[Choice]:
    """For each precision of the target: with the most precise draft model, with the chosen one, without."""
    seen: set[tuple[Precision, bool]] = set()
    possible = choices(pair, LADDERS[devices[0].kind == "cpu"])
    for choice in sorted(possible, key=lambda choice: -choice.target.weights_bytes):
        key = (choice.target.precision, choice.draft is None)
        if key not in seen or choice == chosen:
            yield choice
        seen.add(key)


def _needed(choice: Choice, devices: Sequence[Device], context_tokens: int, loads: Sequence[Load] | None) -> int:
    return sum(load.total_bytes for load in loads) if loads else needed_bytes(choice, devices, context_tokens)


def _shortage(choice: Choice, devices: Sequence[Device], context_tokens: int) -> str:
    excess = needed_bytes(choice, devices, context_tokens) - sum(device.usable_bytes for device in devices)
    return f"{gib(excess)} over" if excess > 0 else "pieces too large"
