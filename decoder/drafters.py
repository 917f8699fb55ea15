"""Which drafter serves a request: built for each one, over indexes and caches that outlive it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

from decoder.cost import LiveCost, PassCost
from decoder.engine import EngineError
from decoder.sampler import Sampler
from decoder.speculate import Step
from decoder.wire.messages import Complete, Draft
from drafting import interface
from drafting.cascade import Cascade, Permit
from drafting.context_index import ContextIndex
from drafting.context_lexemes import ContextLexemes
from drafting.corpus import Corpus
from drafting.gamma import MOST_GAMMA, GammaTuner
from drafting.interface import LanguageModel
from drafting.likeness import Cursor
from drafting.lookup import LookupDrafter
from drafting.prefix_cache import PrefixCache
from drafting.seam import Seam
from drafting.small_model import Receive, Receiving, SmallModelDrafter, catch_up, keep_in_place, require_same_vocabulary
from drafting.syntax import Syntax
from drafting.syntax_drafter import SyntaxDrafter

UNMEASURED = PassCost((1, 16), (1.0, 1.6))
UNMEASURED_DRAFT = 0.3
"""Proportions of passes that nobody has timed, and of a draft token."""

_WITHOUT_MODEL: dict[Draft, Draft] = {"auto": "syntax", "model": "none"}
"""The ways of drafting that may ask the draft model, and what is left of each without it."""

MOST_LANGUAGES = 8
"""Texts in so many languages stay indexed from request to request."""


class Spelling(Protocol):
    """What drafting needs of a `Tokenizer`."""

    def encode(self, text: str) -> list[int]: ...

    def token_bytes(self, token: int) -> bytes: ...


def check_draft(draft: Draft, *, has_draft_model: bool) -> None:
    """Raises EngineError for a way of drafting that is not available."""
    if draft == "model" and not has_draft_model:
        raise EngineError("draft 'model' needs a draft model: set draft_model in config.toml, or use 'auto'")


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
    """Owns what drafting remembers between requests: caches, indexes, and what pays."""

    def __init__(
        self,
        target: LanguageModel,
        corpus: Corpus,
        draft_model: LanguageModel | None = None,
        *,
        spelling: Spelling,
        cost: PassCost = UNMEASURED,
        ms_per_draft_token: float = UNMEASURED_DRAFT,
        permit: Callable[[], Permit] = Permit,
    ) -> None:
        """cost: of the target's passes; ms_per_draft_token: of the draft model; permit: what the load allows at a step.

        Raises VocabularyMismatchError where the draft model speaks another vocabulary than the target.
        """
        self._corpus = corpus
        self._token_bytes = cache(spelling.token_bytes)  # at most one entry for each token of the vocabulary
        self._seam = Seam(spelling.encode, self._token_bytes)
        self._cost = LiveCost(cost)
        self._ms_per_draft_token = ms_per_draft_token
        self._permit = permit
        self.tuner = self.fresh_tuner()
        self._context = ContextIndex()
        self._written: dict[str, tuple[ContextLexemes, Cursor]] = {}
        self._draft_cache: PrefixCache | None = None
        if draft_model is not None:
            require_same_vocabulary(target, draft_model)
            self._draft_cache = PrefixCache(draft_model)
        self._receive: Receive = target.receive if isinstance(target, Receiving) else keep_in_place

    @property
    def syntax(self) -> Syntax:
        """The grammars that buffers are read with."""
        return self._corpus.syntax

    def fresh_tuner(self) -> GammaTuner:
        """One that has learned nothing yet."""
        return GammaTuner(self._cost, ms_per_draft_token=self._ms_per_draft_token)

    def check(self, draft: Draft) -> None:
        """Raises EngineError for a way of drafting that is not available here."""
        check_draft(draft, has_draft_model=self._draft_cache is not None)

    def make(self, request: Complete, sampler: Sampler, tuner: GammaTuner | None = None) -> interface.Drafter:
        """The drafter for one request; one that asks for a draft length gets drafts of just that, if they are there.

        tuner: instead of the one that all requests share. Raises EngineError as `check`.
        """
        self.check(request.draft)
        if request.draft == "none":
            return NoDrafter()
        lookup = self._lookup(request) if request.draft != "model" else None
        small = None
        if self._draft_cache is not None and self._may_ask(request):
            small = SmallModelDrafter(self._draft_cache, sampler.pick, self._receive)
        if request.gamma is not None:
            return FirstOf(*(each for each in (lookup, small) if each))
        return Cascade(tuner or self.tuner, request.language, lookup=lookup, model=small, permit=self._permit)

    def _lookup(self, request: Complete) -> LookupDrafter | SyntaxDrafter:
        excluded = self._corpus.run_at(request.document, request.line)
        if request.draft == "lookup":
            return LookupDrafter(self._context, self._corpus, excluded_run=excluded)
        lexemes, cursor = self._text_in(request.language)
        return SyntaxDrafter(lexemes, self._seam, self._corpus, cursor=cursor, excluded_run=excluded)

    def _text_in(self, language: str) -> tuple[ContextLexemes, Cursor]:
        """The text written last in a language, and its end; each language has keywords and a grammar of its own."""
        if language in self._written:
            self._written[language] = self._written.pop(language)
        else:
            syntax = self._corpus.syntax
            cursor = Cursor(language, syntax.grammar(language), self._token_bytes)
            self._written[language] = ContextLexemes(self._token_bytes, syntax.keywords(language)), cursor
            if len(self._written) > MOST_LANGUAGES:
                del self._written[next(iter(self._written))]
        return self._written[language]

    def prepare(self, request: Complete, context: Sequence[int]) -> Iterator[int]:
        """As `catch_up`, where the request may ask the draft model."""
        if self._draft_cache is not None and self._may_ask(request):
            yield from catch_up(self._draft_cache, context)

    def permitted(self, request: Complete) -> Complete:
        """The request, without the draft model where the load rules that out.

        Asked once, at the start: a draft model that has not read the prompt by then would have to do so within a step.
        """
        if request.gamma is not None or request.draft not in _WITHOUT_MODEL or self._permit().model:
            return request
        return replace(request, draft=_WITHOUT_MODEL[request.draft])

    def _may_ask(self, request: Complete) -> bool:
        return request.draft in _WITHOUT_MODEL and self.gamma(request) > 0

    def learn(self, step: Step) -> None:
        """What the passes of the target cost today."""
        if step.milliseconds:
            self._cost.learn(step.num_rows, step.milliseconds)

    def forget(self) -> None:
        """Empties the draft model's cache."""
        if self._draft_cache is not None:
            self._draft_cache.forget()

    def gamma(self, request: Complete) -> int:
        """Draft tokens a step at most: what the request says, else what any draft may have."""
        return request.gamma if request.gamma is not None else MOST_GAMMA
