"""A plan in words: what is loaded where, why not better, and which setting changes it."""

from collections.abc import Iterator

from decoder.plan.choice import choices
from decoder.plan.placement import needed_bytes
from decoder.plan.plan import Plan
from decoder.plan.precision import LADDERS
from decoder.plan.wording import gib


def sentences(plan: Plan) -> tuple[str, ...]:
    """What a person should know of `plan`, the most important first."""
    return (*_target(plan), *_draft(plan), *_precision(plan), *_context(plan), *_speed(plan))


def _target(plan: Plan) -> Iterator[str]:
    target = plan.choice.target
    parts = plan.target_layers
    where = parts[0][0] if len(parts) == 1 else ", ".join(f"{device} ({layers} layers)" for device, layers in parts)
    yield f"{target.shape.name} in {target.precision} on {where}: {gib(target.weights_bytes)} of weights."


def _draft(plan: Plan) -> Iterator[str]:
    draft = plan.choice.draft
    if draft is not None:
        shared = plan.draft_device in [device for device, _ in plan.target_layers]
        where = "beside the target" if shared else "by itself"
        weights = gib(draft.weights_bytes)
        yield f"{draft.shape.name} drafts in {draft.precision} on {plan.draft_device}, {where}: {weights} of weights."
    elif plan.pair.draft is not None:
        yield f"{plan.pair.draft.name} stays off, there is no room for both: drafts come from lookup alone."


def _precision(plan: Plan) -> Iterator[str]:
    """Why not the best precision there is, if it isn't."""
    best = next(choices(plan.pair, LADDERS[plan.devices[0].kind == "cpu"]))
    if best.target.precision == plan.precision or plan.choice.target.shape.stored:
        return
    needed = needed_bytes(best, plan.devices, plan.context_tokens)
    usable = sum(device.usable_bytes for device in plan.devices)
    if needed > usable:
        yield f"In {best.target.precision} the pair needs {gib(needed)}, and {gib(usable)} can be used."
    yield f"Drafts never change the text; {plan.precision} changes it a little."


def _context(plan: Plan) -> Iterator[str]:
    kv_bytes = sum(load.kv_bytes for load in plan.loads)
    most, window = plan.most_context_tokens, plan.pair.target.context_length
    limit = "the model's window" if most == window else f"of the model's {window:,}"
    yield (
        f"{plan.context_tokens:,} tokens of context take {gib(kv_bytes)} of keys and values;"
        f" up to {most:,} fit, {limit} (context_tokens in config.toml)."
    )


def _speed(plan: Plan) -> Iterator[str]:
    if not plan.tokens_per_s:
        return
    yield f"Without drafts at best {plan.tokens_per_s:.0f} tokens/s: the memory cannot be read faster."
