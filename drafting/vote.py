"""Chooses between matches that go on differently: those that agree on the next token speak for each other."""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from drafting.exact import ExactMatch
from drafting.renamed import RenamedMatch

LARGEST_MATCH = 12
"""Tokens of an exact match beyond which a longer one is not trusted more."""

_EXACT_WEIGHTS = [2.0**length for length in range(LARGEST_MATCH + 1)]
_RENAMED_WEIGHTS = [1.3**length for length in range(31)]
_ALIKE_WEIGHTS = [1.5**length for length in range(9)]
_RANK_WEIGHTS = [1 / math.sqrt(1 + rank) for rank in range(128)]
_IN_TEXT_WEIGHT = 2.0

_BIAS, _EXACT_LENGTH, _RENAMED_LENGTH, _EXACT, _BOTH, _ONE_TOKEN, _TEXT, _SETTLED = (
    -2.62, 0.75, 0.85, 1.90, -0.81, -0.80, 0.93, 0.80,
)  # fmt: skip
"""Of a softmax over the tokens that matches foresee and "another one": maximum likelihood on written texts."""


class Voice(NamedTuple):
    """A match and the token that follows it, in the text's own tokens."""

    weight: float
    token: int
    match: ExactMatch | RenamedMatch


class Choice(NamedTuple):
    """Those that go on with one token, the weightiest first, each with its share of all that was said.

    probability: about how often that token is written.
    """

    probability: float
    token: int
    matches: list[tuple[float, ExactMatch | RenamedMatch]]


class _Group:
    """What speaks for one token, as shares of all that was said."""

    __slots__ = ("exact", "in_text", "length", "matches", "renamed", "renamed_length", "settled")

    def __init__(self) -> None:
        self.exact = self.renamed = 0.0
        self.in_text = self.settled = False
        self.length = self.renamed_length = 0
        self.matches: list[tuple[float, ExactMatch | RenamedMatch]] = []

    def hear(self, share: float, match: ExactMatch | RenamedMatch) -> None:
        self.matches.append((share, match))
        if isinstance(match, ExactMatch):
            self.exact += share
            self.in_text = self.in_text or match.passage is None
            self.length = max(self.length, match.length)
        else:
            self.settled = self.settled or (not self.renamed and match.is_settled)
            self.renamed += share
            self.renamed_length = max(self.renamed_length, match.length)

    def odds(self) -> float:
        """Against a token that no match foresees."""
        score = _BIAS + _EXACT * self.exact + _BOTH * self.exact * self.renamed
        score += _EXACT_LENGTH * self.exact * math.log1p(self.length)
        score += _RENAMED_LENGTH * self.renamed * math.log1p(self.renamed_length)
        return math.exp(score + _ONE_TOKEN * (self.length == 1) + _TEXT * self.in_text + _SETTLED * self.settled)


class Vote:
    """Each kind of matches has one vote, shared out by their weights."""

    def __init__(self) -> None:
        self._groups: dict[int, _Group] = {}

    def hear(self, voices: Sequence[Voice]) -> None:
        """All matches of one kind."""
        groups = self._groups
        total = sum([voice.weight for voice in voices])
        for weight, token, match in voices:
            group = groups.get(token)
            if group is None:
                group = groups[token] = _Group()
            group.hear(weight / total, match)

    def choices(self) -> list[Choice]:
        """The two likeliest next tokens, or fewer."""
        ranked = sorted([(group.odds(), token) for token, group in self._groups.items()], reverse=True)
        total = 1 + sum([odds for odds, _ in ranked])
        return [
            Choice(odds / total, token, sorted(self._groups[token].matches, key=itemgetter(0), reverse=True))
            for odds, token in ranked[:2]
        ]


def exact_weight(match: ExactMatch) -> float:
    """How much an exact match says."""
    weight = _EXACT_WEIGHTS[min(match.length, LARGEST_MATCH)] * _RANK_WEIGHTS[match.rank]
    return weight if match.passage else weight * _IN_TEXT_WEIGHT


def renamed_weight(match: RenamedMatch) -> float:
    """How much a renamed match says."""
    alike = _ALIKE_WEIGHTS[min(match.length_alike, 8)]
    return _RENAMED_WEIGHTS[min(match.length, 30)] * alike * _RANK_WEIGHTS[match.rank]


def agreed(drafts: Sequence[tuple[float, tuple[int, ...]]], gamma: int) -> tuple[int, ...]:
    """Token by token what most of the weight goes on with; a draft that goes on otherwise has no say any more.

    >>> agreed([(0.4, (1, 2, 3)), (0.3, (1, 5, 6)), (0.3, (1, 5, 7))], 8)
    (1, 5, 6)
    """
    shares: dict[tuple[int, ...], float] = {}
    for share, draft in drafts:
        shares[draft] = shares.get(draft, 0.0) + share
    tokens: tuple[int, ...] = ()
    while len(shares) > 1 and len(tokens) < gamma:
        position = len(tokens)
        said: dict[int, float] = {}
        for draft, share in shares.items():
            if len(draft) > position:
                said[draft[position]] = said.get(draft[position], 0.0) + share
        if not said:
            return tokens
        token = max(said, key=said.__getitem__)
        tokens += (token,)
        shares = {draft: share for draft, share in shares.items() if draft[position : position + 1] == (token,)}
    return next(iter(shares), ())[:gamma] if len(shares) == 1 else tokens
