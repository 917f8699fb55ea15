"""Puts the decoder together from its settings: the one place that knows which classes stand behind the protocols."""

import gc
import logging
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from decoder.accept import AcceptanceRule
from decoder.arrange import arrange
from decoder.buffers import Buffers
from decoder.config import DecoderConfig, Dtype
from decoder.cost import measure_draft_step
from decoder.drafters import UNMEASURED_DRAFT, Drafters, check_draft
from decoder.engine import EngineError
from decoder.governor import Governor
from decoder.learned import Learned
from decoder.loading import Loaded, LoadedDraft, NoMemoryError, Progress, load, load_draft
from decoder.local_engine import Defaults, LocalEngine
from decoder.models.catalog import Catalog, CatalogError
from decoder.models.store import ModelStore, ModelStoreError
from decoder.neighbours import Neighbours
from decoder.power import Power
from decoder.prompt import PromptBuilder
from decoder.prompt_families import PromptFamily, family_named, family_of
from decoder.telemetry import OnUnanswered, nobody_told
from decoder.tokenizer import Tokenizer, TokenizerError
from decoder.torch_engine.memory import Demand, DeviceMemoryError, settle
from decoder.wire.messages import Sampling
from decoder.writer import Writer
from drafting.corpus import Corpus
from drafting.prefix_cache import PrefixCache
from drafting.small_model import VocabularyMismatchError

LEAST_CONTEXT_TOKENS = 512
"""A window shorter than this would hold no useful prompt: rather no completions than bad ones."""

LEAST_WINDOW_FOR_QUOTES = 4096
"""By default a shorter window quotes no other documents: it helped the starter by 0.07 ± 0.06 nats a token only."""

MOST_QUOTED = 0.5
"""Share of a prompt."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of one decoder."""

    tokenizer: Tokenizer
    target: PrefixCache
    corpus: Corpus
    drafters: Drafters
    loaded: Loaded
    """The target as it was loaded."""
    rule: AcceptanceRule
    governor: Governor = field(default_factory=Governor)
    notes: tuple[str, ...] = ()
    """What the memory plan decided, and what was given up for want of memory."""

    @property
    def device(self) -> str:
        return self.loaded.place.device

    @property
    def dtype(self) -> Dtype:
        return self.loaded.place.dtype

    def engine(
        self,
        config: DecoderConfig,
        learned: Learned | None = None,
        buffers: Buffers | None = None,
        *,
        on_unanswered: OnUnanswered = nobody_told,
    ) -> LocalEngine:
        """The engine over these parts. In a shorter window than was asked for, prompts keep their share of it.

        learned: what drafting goes on from, and where it keeps what it learns; None begins anew and keeps nothing.
        buffers: the open documents that prompts may quote. on_unanswered: as for `Writer`.
        """
        if learned:
            self.drafters.tuner.survival = learned.survival(self.target.model.name)
        return LocalEngine(
            Writer(
                self.target,
                self.tokenizer,
                self.drafters,
                self._prompts(config, buffers),
                rule=self.rule,
                on_unanswered=on_unanswered,
            ),
            self.drafters,
            model=self.target.model.name,
            description="; ".join([str(self.loaded), *self.notes]),
            defaults=Defaults(
                draft=config.draft,
                gamma=config.gamma,
                sampling=Sampling(temperature=config.temperature),
                background_tokens=config.background_tokens,
            ),
            governor=self.governor,
            learned=learned,
            saves_power=Power().is_saved,
        )

    def _prompts(self, config: DecoderConfig, buffers: Buffers | None) -> PromptBuilder:
        window = min(self.target.model.context_length, config.context_tokens)
        budget = min(config.prompt_tokens * window // config.context_tokens, self.target.model.context_length - 1)
        quoted = _quoted(config, window)
        return PromptBuilder(
            self.tokenizer,
            budget=budget,
            family=_family(config, self.tokenizer),
            neighbours=Neighbours(buffers, share=min(MOST_QUOTED, quoted / budget)) if buffers and quoted else None,
        )


def _family(config: DecoderConfig, tokenizer: Tokenizer) -> PromptFamily:
    """Raises EngineError for one whose markers the tokenizer lacks."""
    named = config.prompt_family
    return family_of(tokenizer) if named == "auto" else family_named(named, tokenizer)


def _quoted(config: DecoderConfig, window: int) -> int:
    """Tokens of a prompt for passages of other documents; a small window is better filled with the document's own."""
    if config.neighbour_tokens is not None:
        return config.neighbour_tokens
    return config.prompt_tokens // 4 if window >= LEAST_WINDOW_FOR_QUOTES else 0


def assemble(config: DecoderConfig, progress: Progress = lambda _text: None) -> Assembly:
    """Loads the models; takes seconds. Raises EngineError with the remedy where that cannot be done."""
    try:
        return _assemble(config, progress)
    except (CatalogError, ModelStoreError, TokenizerError, VocabularyMismatchError, DeviceMemoryError) as error:
        raise EngineError(str(error)) from error


def model_folder(name: str) -> Path:
    """Where a model lies on this machine. Raises CatalogError or ModelStoreError where it is unknown or not pulled."""
    return ModelStore().locate(Catalog().resolve(name))


class _Models:
    """The models of a configuration, and loading them with as much memory as is granted."""

    def __init__(self, config: DecoderConfig, progress: Progress) -> None:
        """Raises EngineError, before a model is loaded, where the settings name what is not there."""
        check_draft(config.draft, has_draft_model=bool(config.draft_model))
        self._config = config
        self._progress = progress
        self._folder = model_folder(config.model)
        self._draft_folder = model_folder(config.draft_model) if config.draft_model else None
        self.tokenizer = Tokenizer.load(self._folder)
        _family(config, self.tokenizer)
        self.arrangement = arrange(config)
        self.given_up: list[str] = []
        self._target: tuple[int, Loaded] | None = None

    @property
    def demand(self) -> Demand:
        """What is wanted."""
        draft = self.arrangement.draft
        name, device = (self._config.draft_model, draft.device) if draft else ("", "")
        return Demand(self.arrangement.context_tokens, draft_model=name, draft_device=device)

    def give_up(self, sentence: str) -> None:
        """Keeps what is told of something that was given up for want of memory."""
        _log.warning("%s", sentence)  # without a log, as in `draftline complete`, it is told on stderr
        self.given_up.append(sentence)

    def load(self, demand: Demand) -> tuple[Loaded, LoadedDraft | None]:
        """Target and draft model. Raises DeviceMemoryError where a device has no room for them.

        A draft model that finds no room in the host's memory is given up at once. A target that was loaded before,
        for as long a context, is kept: giving up the draft model costs no time.
        """
        target = self._load_target(demand.context_tokens)
        if not demand.draft_model or self._draft_folder is None or self.arrangement.draft is None:
            return target, None
        config = replace(self._config, context_tokens=demand.context_tokens)
        tokenizer = Tokenizer.load(self._draft_folder)
        place, name = self.arrangement.draft, config.draft_model
        try:
            return target, load_draft(config, place, name, self._draft_folder, tokenizer, self._progress)
        except NoMemoryError as error:
            self.give_up(f"{name} does not draft: {error}, or unset draft_model")
            return target, None

    def _load_target(self, context_tokens: int) -> Loaded:
        if self._target is not None and self._target[0] == context_tokens:
            return self._target[1]
        self._target = None
        gc.collect()  # one target at a time
        config, place = replace(self._config, context_tokens=context_tokens), self.arrangement.target
        loaded = load(config, place, config.model, self._folder, self.tokenizer, self._progress)
        self._target = context_tokens, loaded
        return loaded


def _assemble(config: DecoderConfig, progress: Progress) -> Assembly:
    models = _Models(config, progress)
    least = min(LEAST_CONTEXT_TOKENS, models.demand.context_tokens)
    (loaded, draft), _ = settle(models.load, models.demand, least_context=least, say=models.give_up)
    corpus = Corpus(models.tokenizer.encode, models.tokenizer.token_bytes)
    draft_model = draft.model if draft else None
    governor = Governor()
    drafters = Drafters(
        loaded.model,
        corpus,
        draft_model,
        spelling=models.tokenizer,
        cost=loaded.probed.cost,
        ms_per_draft_token=measure_draft_step(draft_model) if draft_model else UNMEASURED_DRAFT,
        permit=lambda: governor.permit(time.monotonic()),
    )
    target = PrefixCache(loaded.model)
    notes = (*models.arrangement.notes, *models.given_up, *([draft.place.note] if draft and draft.place.note else []))
    return Assembly(models.tokenizer, target, corpus, drafters, loaded, _rule(config, loaded), governor, notes)


def _rule(config: DecoderConfig, loaded: Loaded) -> AcceptanceRule:
    if config.acceptance != "auto":
        return config.acceptance
    return "coupled" if loaded.exactness.kind == "bitwise" else "rejection"
