"""A world of eight tokens, each of which depends on the one before: small enough to count all that is written."""

import re
from collections.abc import Callable

import numpy as np
from scipy.stats import chisquare

from decoder.sampling import probabilities
from decoder.wire.messages import Sampling
from drafting.cascade import Cascade, LookupCandidates
from drafting.context_index import ContextIndex
from drafting.context_lexemes import ContextLexemes
from drafting.corpus import Corpus
from drafting.gamma import GammaTuner
from drafting.interface import Array, Drafter
from drafting.lookup import LookupDrafter
from drafting.seam import Seam
from drafting.syntax_drafter import SyntaxDrafter

VOCABULARY = 8
START = (5, 3, 1, 2, 3)
GAMMAS = (1, 2, 5)
SAMPLINGS = {
    "T=1": Sampling(temperature=1.0),
    "T=.7 top_p=.8": Sampling(temperature=0.7, top_p=0.8),
    "top_k=3": Sampling(temperature=1.0, top_k=3),
}


def rows(logits: Array, sampling: Sampling) -> Array:
    """Probabilities [vocabulary, vocabulary]: row t follows token t."""
    return np.array([probabilities(row, sampling) for row in logits])


def joint(first: Array, second: Array) -> Array:
    """Probabilities [vocabulary, vocabulary] of two tokens, from p of the first and rows of the second after it."""
    return _summing_to_one(first)[:, None] * _summing_to_one(second)


def counted(write: Callable[[int], tuple[int, int]], num_texts: int) -> Array:
    """How often each pair of tokens was written."""
    counts = np.zeros((VOCABULARY, VOCABULARY))
    for number in range(num_texts):
        counts[write(number)] += 1
    return counts


def significance(counts: Array, expected: Array) -> float:
    """p-value of Pearson's test; cells expected less than five times are taken together."""
    wanted = expected * counts.sum()
    assert counts[wanted == 0].sum() == 0, "a token that the sampler excludes was emitted"
    rare = (wanted < 5) & (wanted > 0)
    common = wanted >= 5
    groups = [(*counts[common],), (*wanted[common],)]
    if rare.any():
        groups = [(*groups[0], counts[rare].sum()), (*groups[1], wanted[rare].sum())]
    return float(chisquare(*groups).pvalue)


def lookup() -> LookupDrafter:
    """Drafts from 400 tokens of chance."""
    return LookupDrafter(ContextIndex(), _chance(str))


def syntax() -> SyntaxDrafter:
    """As `lookup`, with renamed matches: every token is a name or a mark."""
    lexemes = ContextLexemes(lambda token: MARKS[token].encode())
    seam = Seam(_tokens, lambda token: MARKS[token].encode())
    return SyntaxDrafter(lexemes, seam, _chance(MARKS.__getitem__))


class FixedPrice(GammaTuner):
    """For models that take no time worth mentioning: a draft token costs what is said at first, however busy it is."""

    def drafted(self, num_tokens: int, milliseconds: float) -> None:
        """Nothing is learned of it."""


def cascade(tuner: GammaTuner, lookup: LookupCandidates, model: Drafter) -> Cascade:
    """All there is: lookup, the draft model, and lookup after it, by what `tuner` has learned so far."""
    return Cascade(tuner, "x", lookup=lookup, model=model)


MARKS = ("a;", "b;", "c;", "(", ")", "d;", "+", "e;")


def _tokens(text: str) -> list[int]:
    return [MARKS.index(mark) for mark in re.findall(r"\w;|[^\w;]", text)]


def _chance(spell: Callable[[int], str]) -> Corpus:
    corpus = Corpus((lambda text: list(map(int, text))) if spell is str else _tokens)
    corpus.open("x", ["".join(spell(int(t)) for t in np.random.default_rng(3).integers(0, VOCABULARY, 400))])
    return corpus


def _summing_to_one(probabilities: Array) -> Array:
    exact = np.asarray(probabilities, dtype=np.float64)
    return exact / exact.sum(axis=-1, keepdims=True)
