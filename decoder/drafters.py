"""Which drafter serves a request: built for each one, over indexes and caches that outlive it."""

from collections.abc import Iterator, Sequence

from decoder.engine import EngineError
from decoder.sampler import Sampler
from decoder.wire.messages import Complete, Draft
from drafting import interface
from drafting.context_index import ContextIndex
from drafting.corpus import Corpus
from drafting.interface import LanguageModel
from drafting.lookup import LookupDrafter
from drafting.prefix_cache import PrefixCache
from drafting.small_model import Receive, Receiving, SmallModelDrafter, catch_up, keep_in_place, require_same_vocabulary

LOOKUP_GAMMA = 8
MODEL_GAMMA = 4


def check_draft(draft: Draft, *, has_draft_model: bool) -> None:
    """Raises EngineError for a way of drafting that is not available."""
    if draft == "syntax":
        raise EngineError("draft 'syntax' is not available in this version; use 'lookup'")
    if draft == "model" and not has_draft_model:
        raise EngineError("draft 'model' needs a draft model: set draft_model in config.toml, or use 'lookup'")


class NoDrafter:
    """Plain decoding: an empty draft at every step."""

    def draft(self, _context: Sequence[int], _gamma: int) -> interface.Draft:
        """Nothing, always."""
        return interface.Draft()


class FirstOf:
    """The first of several drafters that has something to say."""

    def __init__(self, *drafters: interface.Drafter) -> None:
        self._drafters = drafters

    def draft(self, context: Sequence[int], gamma: int) -> interface.Draft:
        """As `Drafter.draft`."""
        for drafter in self._drafters:
            found = drafter.draft(context, gamma)
            if found.tokens:
                return found
        return interface.Draft()


class Drafters:
    """Owns what drafting remembers between requests."""

    def __init__(
        self,
        target: LanguageModel,
        corpus: Corpus,
        draft_model: LanguageModel | None = None,
        *,
        lookup_gamma: int = LOOKUP_GAMMA,
    ) -> None:
        """lookup_gamma: draft tokens a step where a request leaves that open, and lookup drafts.

        Raises VocabularyMismatchError where the draft model speaks another vocabulary than the target.
        """
        self._lookup_gamma = lookup_gamma
        self._corpus = corpus
        self._context = ContextIndex()
        self._draft_cache: PrefixCache | None = None
        if draft_model is not None:
            require_same_vocabulary(target, draft_model)
            self._draft_cache = PrefixCache(draft_model)
        self._receive: Receive = target.receive if isinstance(target, Receiving) else keep_in_place

    def check(self, draft: Draft) -> None:
        """Raises EngineError for a way of drafting that is not available here."""
        check_draft(draft, has_draft_model=self._draft_cache is not None)

    def make(self, request: Complete, sampler: Sampler) -> interface.Drafter:
        """The drafter for one request. Raises EngineError as `check`."""
        self.check(request.draft)
        if request.draft == "none":
            return NoDrafter()
        excluded = self._corpus.run_at(request.document, request.line)
        lookup = LookupDrafter(self._context, self._corpus, excluded_run=excluded)
        if request.draft == "lookup" or self._draft_cache is None:
            return lookup
        small = SmallModelDrafter(self._draft_cache, sampler.pick, self._receive)
        return small if request.draft == "model" else FirstOf(lookup, small)

    def prepare(self, request: Complete, context: Sequence[int]) -> Iterator[int]:
        """As `catch_up`, where the request may ask the draft model."""
        may_ask = request.draft in ("model", "auto") and self.gamma(request) > 0
        if self._draft_cache is not None and may_ask:
            yield from catch_up(self._draft_cache, context)

    def forget(self) -> None:
        """Empties the draft model's cache."""
        if self._draft_cache is not None:
            self._draft_cache.forget()

    def gamma(self, request: Complete) -> int:
        """Draft tokens a step: what the request says, else one length for its way of drafting."""
        if request.gamma is not None:
            return request.gamma
        return MODEL_GAMMA if request.draft == "model" else self._lookup_gamma
