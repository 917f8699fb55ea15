"""Theorem 2: what is written follows the target, whatever drafted it, with either rule of acceptance."""

import random
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, product

import numpy as np
import pytest

from decoder.accept import Accepted, coupled, rejection
from decoder.noise import Noise
from drafting.interface import Array, Draft
from tests.decoder.chain import GAMMAS, SAMPLINGS, START, VOCABULARY, counted, joint, lookup, rows, significance

CERTAIN = ("argmax", "lookup")
CASES = list(product((*CERTAIN, "drawn"), SAMPLINGS, GAMMAS))
NUM_TEXTS = 7_408
"""27 cases, 200,016 texts together."""

TARGET_LOGITS, DRAFT_LOGITS = np.random.default_rng(7).normal(0.0, 1.2, (2, VOCABULARY, VOCABULARY)).astype(np.float32)

Drafting = Callable[[Sequence[int], int], Draft]
Step = Callable[[Sequence[int], int], tuple[Draft, Accepted]]
"""(text, number of its next token among all texts) -> what was drafted, and what of it stands."""
Rule = Callable[[str, int, Array, Array, int], Step]
"""(kind of drafter, gamma, rows of the target, rows of the draft, seed) -> a step by one of the rules."""


@cache
def certain_draft(kind: str, text: tuple[int, ...], gamma: int) -> Draft:
    """The draft of a drafter that always says the same."""
    if kind == "lookup":
        return lookup().draft(text, gamma)
    return chained(text, gamma, lambda token, _: int(DRAFT_LOGITS[token].argmax()))


def chained(text: Sequence[int], gamma: int, following: Callable[[int, int], int]) -> Draft:
    tokens = [text[-1]]
    for place in range(gamma):
        tokens.append(following(tokens[-1], place))
    return Draft(tuple(tokens[1:]), "chained")


def with_rows(draft: Draft, last: int, draft_rows: Array) -> Draft:
    before = (last, *draft.tokens[:-1])
    return Draft(draft.tokens, "drawn", tuple(draft_rows[token] for token in before[: len(draft.tokens)]))


def stopped(draft: Draft, last: int, draft_rows: Array, kind: str) -> Draft:
    """Ended at the first token that its drafter thought unlikely, which is `kept` or `discarded`."""
    if kind in ("kept", "discarded"):
        for place, (before, token) in enumerate(zip((last, *draft.tokens), draft.tokens, strict=False)):
            if draft_rows[before][token] < 0.2:
                return Draft(draft.tokens[: place + (kind == "kept")], "chained")
    return draft


def written(step: Step, number: int) -> tuple[int, int]:
    """The first two tokens of a text after START."""
    text = list(START)
    while (length := len(text) - len(START)) < 2:
        draft, accepted = step(text, 2 * number + length)
        text += [*draft.tokens[: accepted.num_accepted], accepted.token]
    return text[len(START)], text[len(START) + 1]


def rejecting(kind: str, gamma: int, target: Array, draft_rows: Array, seed: int) -> Step:
    uniform = random.Random(seed).random
    masses = [list(accumulate(map(float, row))) for row in draft_rows]

    def drawn(text: Sequence[int]) -> Draft:
        draft = chained(text, gamma, lambda token, _: bisect(masses[token], uniform() * masses[token][-1]))
        return with_rows(stopped(draft, text[-1], draft_rows, kind), text[-1], draft_rows)

    def step(text: Sequence[int], _number: int) -> tuple[Draft, Accepted]:
        draft = certain_draft(kind, tuple(text), gamma) if kind in CERTAIN else drawn(text)
        return draft, rejection(draft, target[[text[-1], *draft.tokens]], uniform)

    return step


def coupling(kind: str, gamma: int, target: Array, draft_rows: Array, seed: int) -> Step:
    num_positions = 2 * NUM_TEXTS + max(GAMMAS)
    noise = Noise(seed).exponential(np.arange(num_positions * VOCABULARY), 0).reshape(num_positions, 1, VOCABULARY)
    chosen, guessed = ((each / noise).argmax(axis=-1).tolist() for each in (target, draft_rows))

    def step(text: Sequence[int], number: int) -> tuple[Draft, Accepted]:
        if kind in CERTAIN:
            draft = certain_draft(kind, tuple(text), gamma)
        else:
            draft = chained(text, gamma, lambda token, place: int(guessed[number + place][token]))
            draft = stopped(draft, text[-1], draft_rows, kind)
        before = (text[-1], *draft.tokens)
        return draft, coupled(draft, (chosen[number + place][token] for place, token in enumerate(before)))

    return step


def counts_of(rule: Rule, kind: str, name: str, gamma: int, seed: int) -> tuple[Array, Array]:
    """How often each pair of tokens was written, and its probability."""
    target, draft_rows = (rows(logits, SAMPLINGS[name]) for logits in (TARGET_LOGITS, DRAFT_LOGITS))
    step = rule(kind, gamma, target, draft_rows, seed)
    return counted(lambda number: written(step, number), NUM_TEXTS), joint(target[START[-1]], target)


def assert_target_followed(rule: Rule) -> None:
    total, expected_total = np.zeros((2, VOCABULARY, VOCABULARY))
    for seed, (kind, name, gamma) in enumerate(CASES, start=200):
        counts, expected = counts_of(rule, kind, name, gamma, seed)
        assert significance(counts, expected) > 1e-3, f"{kind}, {name}, gamma {gamma}"
        total += counts
        expected_total += expected * NUM_TEXTS
    # 64 cells and 200,000 draws of the right distribution differ by about .5 sqrt(2 * 64 / (pi * 200,000)) = .007
    assert np.abs(total - expected_total).sum() / 2 / total.sum() <= 0.01


@pytest.mark.trap(1)
def test_the_rejection_rule_follows_the_target_for_every_drafter_sampler_and_gamma() -> None:
    assert_target_followed(rejecting)


@pytest.mark.trap(1)
def test_the_coupled_rule_follows_the_target_for_every_drafter_sampler_and_gamma() -> None:
    assert_target_followed(coupling)


@pytest.mark.trap(8)
def test_a_draft_may_end_after_an_unlikely_token_but_not_without_it() -> None:
    # what is discarded was drawn: the tokens that are left are likelier than the rows reported with them
    assert significance(*counts_of(rejecting, "kept", "T=1", 5, 1)) > 1e-3
    assert significance(*counts_of(rejecting, "discarded", "T=1", 5, 1)) < 1e-9
    assert significance(*counts_of(coupling, "kept", "T=1", 5, 1)) > 1e-3
    assert significance(*counts_of(coupling, "discarded", "T=1", 5, 1)) > 1e-3, "coupled, no draft matters"
