"""Which two models are meant: a target, and the draft model that guesses for it."""

from dataclasses import dataclass
from pathlib import Path

from decoder.models.catalog import Catalog, CatalogError
from decoder.models.entry import ModelEntry
from decoder.models.store import ModelStore
from decoder.plan.errors import PlanError
from decoder.plan.known_shapes import KNOWN_SHAPES
from decoder.plan.model_config import shape_in
from decoder.plan.shape import ModelShape

NO_DRAFT = "none"
_MOST_PADDING = 1024  # rows that a vocabulary may be padded by


@dataclass(frozen=True, slots=True)
class Pair:
    """The shapes of a target and its draft model, if it has one."""

    target: ModelShape
    draft: ModelShape | None

    @property
    def name(self) -> str:
        return f"{self.target.name}+{self.draft.name}" if self.draft else self.target.name

    @staticmethod
    def parse(text: str) -> "Pair":
        """`TARGET` with its first draft partner of the catalog, `TARGET+DRAFT`, or `TARGET+none`.

        Raises PlanError, or ModelStoreError for a model whose shape is only known once it is pulled.
        """
        target, plus, draft = (text, "", "") if _is_folder(text) else text.partition("+")
        if plus and not draft:
            raise PlanError(f"{text!r} names no draft model behind the +: TARGET, TARGET+DRAFT or TARGET+{NO_DRAFT}")
        if not plus:
            draft = next(iter(_resolve(target).draft), NO_DRAFT)
        return Pair.of(target, "" if draft == NO_DRAFT else draft)

    @staticmethod
    def of(target: str, draft: str = "") -> "Pair":
        """The pair of two models as config.toml names them; no `draft`, no draft model. Raises as `parse`."""
        pair = Pair(_shape(target), _shape(draft) if draft else None)
        if pair.draft and not _same_tokens(pair.target.vocabulary, pair.draft.vocabulary):
            raise PlanError(
                f"{pair.draft.name} cannot draft for {pair.target.name}: its vocabulary has {pair.draft.vocabulary:,}"
                f" tokens, not {pair.target.vocabulary:,}; choose a draft model of the same family"
            )
        return pair


def _shape(text: str) -> ModelShape:
    entry = _resolve(text)
    return KNOWN_SHAPES.get(entry.name) or shape_in(ModelStore().locate(entry), entry.name)


def _resolve(text: str) -> ModelEntry:
    try:
        return Catalog().resolve(text)
    except CatalogError as error:
        raise PlanError(str(error)) from error


def _is_folder(text: str) -> bool:
    return (Path(text).expanduser() / "config.json").is_file()


def _same_tokens(one: int, other: int) -> bool:
    """Checkpoints of one family pad their vocabulary to different multiples (Qwen2.5: 151,936 and 152,064)."""
    return abs(one - other) <= _MOST_PADDING and abs(one - other) % 64 == 0
