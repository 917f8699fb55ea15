"""Drafts from exact and renamed matches in the text being written and in the open buffers."""

from collections.abc import Sequence
from heapq import nlargest
from operator import itemgetter

from drafting.context_lexemes import ContextLexemes
from drafting.corpus import Corpus
from drafting.exact import ExactMatch, exact_matches, token_matches
from drafting.interface import Draft
from drafting.renamed import RenamedMatch, renamed_matches
from drafting.seam import Seam
from drafting.vote import Choice, Voice, agreed, choose, exact_weight, renamed_weight

MAX_EXACT = 8
MAX_RENAMED = 8
"""Earlier occurrences looked at, in the text itself and in the buffers each: bounds the time of a draft."""

FEW = 8
"""With fewer exact matches, matches of a single token are asked as well; so many renamed ones vote."""

SURE = 12
"""Tokens of an exact match that need no other kind of match beside it."""

_LEAST_SHARE = 0.1
"""Of the weightiest renamed match; one that says less is not worth encoding."""

_CHARACTERS_PER_TOKEN = 4
_LEXEMES_AHEAD = 4
"""Enough to know the first token of what follows: marks in a row are often one token."""


class SyntaxDrafter:
    """All of `LookupDrafter`, and matches under other names; the next token is put to the vote of all matches.

    One for each request, whose context only grows, but for tokens that were drafted and not accepted.
    """

    def __init__(
        self,
        lexemes: ContextLexemes,
        seam: Seam,
        corpus: Corpus | None = None,
        *,
        excluded_run: int | None = None,
    ) -> None:
        """lexemes: of the text that was written last, whichever it was, with the keywords of the request's language."""
        self._index = lexemes.index
        self._lexemes = lexemes
        self._seam = seam
        self._corpus = corpus
        self._excluded_run = excluded_run

    def draft(self, context: Sequence[int], gamma: int) -> Draft:
        """As `Drafter.draft`. Every token was chosen deterministically."""
        choices = self._choose(context) if gamma > 0 else []
        return self._draft(choices[0], gamma) if choices else Draft()

    def candidates(self, context: Sequence[int], gamma: int) -> list[Draft]:
        """The likeliest draft, and the likeliest one that begins otherwise. `Draft.bucket`: tenths of certainty."""
        choices = self._choose(context) if gamma > 0 else []
        return [self._draft(choice, gamma) for choice in choices]

    def _choose(self, context: Sequence[int]) -> list[Choice]:
        self._lexemes.follow(context, by=self)
        exact = self._exact()
        is_sure = any(voice.match.length >= SURE for voice in exact)
        return choose(exact, [] if is_sure else self._renamed())

    def _exact(self) -> list[Voice]:
        found = exact_matches(self._index, self._corpus, MAX_EXACT, excluded=self._excluded_run)
        if len(found) < FEW:
            found += token_matches(self._index, MAX_EXACT)
        return [Voice(exact_weight(match), match.tokens[match.position], match) for match in found]

    def _renamed(self) -> list[Voice]:
        found = renamed_matches(self._lexemes, self._corpus, MAX_RENAMED, excluded=self._excluded_run)
        weighed = nlargest(FEW, [(renamed_weight(match), match) for match in found], key=itemgetter(0))
        voices = []
        for weight, match in weighed:
            if weight < _LEAST_SHARE * weighed[0][0]:
                break
            tokens = self._tokens(match, _LEXEMES_AHEAD, _LEXEMES_AHEAD * _CHARACTERS_PER_TOKEN)
            if tokens:
                voices.append(Voice(weight, tokens[0], match))
        return voices

    def _tokens(self, match: RenamedMatch, max_lexemes: int, max_characters: int) -> tuple[int, ...]:
        text = match.continuation(max_lexemes, max_characters)
        if not text:
            return ()
        return self._seam.after(self._seam.before(self._index.tokens, len(self._lexemes.open.encode())), text)

    def _draft(self, choice: Choice, gamma: int) -> Draft:
        """Of the matches that agree on the next token, one that is renamed at most: encoding takes the most time."""
        bucket = int(choice.probability * 10)
        exact = [(share, match) for share, match in choice.matches if isinstance(match, ExactMatch)]
        drafts = [(share, match.continuation(gamma)) for share, match in exact[:FEW]]
        share, first = choice.matches[0]
        if isinstance(first, ExactMatch):
            return Draft(agreed(drafts, gamma), "lookup", bucket=bucket, statement=first.statement())
        own = self._tokens(first, 2 * gamma, gamma * _CHARACTERS_PER_TOKEN) or (choice.token,)
        return Draft(agreed([(share, own), *drafts], gamma), "renamed", bucket=bucket)
