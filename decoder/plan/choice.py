"""In which precisions a pair could be loaded, the best first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from decoder.plan.footprint import Footprint
from decoder.plan.pair import Pair
from decoder.plan.precision import Precision
from decoder.plan.shape import ModelShape


@dataclass(frozen=True, slots=True)
class Choice:
    """Target and draft model at chosen precisions; `draft` None: off."""

    target: Footprint
    draft: Footprint | None


def choices(pair: Pair, precisions: Sequence[Precision]) -> Iterator[Choice]:
    """All combinations in the order of preference: with the draft model, then the target's text, then the draft's.

    A checkpoint that is quantised already keeps its precision. A draft model computes in float32 only for a target
    that does.
    """
    if pair.draft is not None:
        for target in _footprints(pair.target, precisions):
            for draft in _footprints(pair.draft, precisions):
                if draft.precision != "float32" or target.precision == "float32":
                    yield Choice(target, draft)
    for target in _footprints(pair.target, precisions):
        yield Choice(target, None)


def _footprints(shape: ModelShape, precisions: Sequence[Precision]) -> list[Footprint]:
    return [Footprint(shape, precision) for precision in ((shape.stored,) if shape.stored else precisions)]
