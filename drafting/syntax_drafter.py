"""Drafts from exact and renamed matches in the text being written and in the open buffers."""

from collections.abc import Sequence
from heapq import nlargest
from operator import itemgetter

from drafting.context_lexemes import ContextLexemes
from drafting.corpus import Corpus
from drafting.exact import ExactMatch, exact_matches, token_matches
from drafting.interface import Draft
from drafting.likeness import UNKNOWN, Cursor
from drafting.renamed import RenamedMatch, renamed_matches
from drafting.seam import Seam
from drafting.vote import Choice, Voice, Vote, agreed, exact_weight, renamed_weight

MAX_EXACT = 6
MAX_RENAMED = 8
"""Earlier occurrences looked at, in the text itself and in the buffers each: bounds the time of a draft."""

FEW = 8
"""With fewer exact matches, matches of a single token are asked as well; so many exact ones make the draft."""

SURE = 0.6
"""The certainty from which on exact matches need no renamed ones beside them, which take far more time."""

MAX_VOICES = 5
MAX_TEXTS = 2
"""Renamed matches that vote, and texts among those they go on with that are encoded: the ones that say the most."""

_LEAST_SHARE = 0.4
"""Of the weightiest renamed match; one that says less is not heard."""

_CHARACTERS_PER_TOKEN = 4
_LEXEMES_AHEAD = 2
_CHARACTERS_AHEAD = 12
"""Mostly enough to know the first token of what follows: marks in a row are often one token."""


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
        cursor: Cursor | None = None,
        excluded_run: int | None = None,
    ) -> None:
        """lexemes: of the text that was written last, whichever it was, with the keywords of the request's language.

        cursor: tells how much a match's place is like the end of the text, which is left open without it.
        """
        self._index = lexemes.index
        self._lexemes = lexemes
        self._seam = seam
        self._corpus = corpus
        self._cursor = cursor
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
        vote = Vote()
        vote.hear(self._exact())
        choices = vote.choices()
        if choices and choices[0].probability >= SURE:
            return choices
        vote.hear(self._renamed())
        return vote.choices()

    def _exact(self) -> list[Voice]:
        found = exact_matches(self._index, self._corpus, MAX_EXACT, excluded=self._excluded_run)
        if len(found) < FEW:
            found += token_matches(self._index, MAX_EXACT)
        return [Voice(exact_weight(match), match.tokens[match.position], match) for match in found]

    def _renamed(self) -> list[Voice]:
        found = renamed_matches(self._lexemes, self._corpus, MAX_RENAMED, excluded=self._excluded_run)
        weighed = nlargest(MAX_VOICES, [(renamed_weight(match), match) for match in found], key=itemgetter(0))
        texts: dict[str, list[tuple[float, RenamedMatch]]] = {}
        for weight, match in weighed:
            if weight < _LEAST_SHARE * weighed[0][0]:
                break
            text = match.continuation(_LEXEMES_AHEAD, _CHARACTERS_AHEAD)
            if text:
                texts.setdefault(text, []).append((weight, match))
        voices = []
        for text, heard in nlargest(MAX_TEXTS, texts.items(), key=_weight_of_text):
            tokens = self._encoded(text)
            if tokens:
                voices += [Voice(weight, tokens[0], match) for weight, match in heard]
        return voices

    def _encoded(self, text: str) -> tuple[int, ...]:
        """The tokens that write `text` behind what is open; none where they do not fit those written so far."""
        return self._seam.after(self._seam.before(self._index.tokens, len(self._lexemes.open.encode())), text)

    def _draft(self, choice: Choice, gamma: int) -> Draft:
        """Of the matches that agree on the next token, one that is renamed at most: encoding takes the most time."""
        bucket = int(choice.probability * 10)
        exact = [(share, match) for share, match in choice.matches if isinstance(match, ExactMatch)]
        drafts = [(share, match.continuation(gamma)) for share, match in exact[:FEW]]
        share, first = choice.matches[0]
        if isinstance(first, ExactMatch):
            tokens, alike = agreed(drafts, gamma), self._likeness(first)
            return Draft(tokens, "lookup", bucket=bucket, alike=alike, statement=first.statement())
        own = self._encoded(first.continuation(2 * gamma, gamma * _CHARACTERS_PER_TOKEN)) or (choice.token,)
        return Draft(agreed([(share, own), *drafts], gamma), "renamed", bucket=bucket)

    def _likeness(self, match: ExactMatch) -> int:
        if self._cursor is None or match.passage is None:
            return UNKNOWN
        return self._cursor.likeness(self._index.tokens, match.passage, match.position)


def _weight_of_text(item: tuple[str, list[tuple[float, RenamedMatch]]]) -> float:
    return sum([weight for weight, _ in item[1]])
