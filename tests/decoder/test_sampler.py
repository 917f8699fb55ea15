from collections import Counter
from typing import get_args

import numpy as np
import pytest
from scipy.stats import chisquare

from decoder.accept import AcceptanceRule, Accepted
from decoder.engine import EngineError
from decoder.sampler import Sampler
from decoder.sampling import NonFiniteLogitsError, probabilities
from decoder.wire.messages import Sampling
from drafting.interface import Array, Draft

RULES = get_args(AcceptanceRule)
LOGITS = np.random.default_rng(2).normal(0.0, 1.5, 8).astype(np.float32)
SAMPLINGS = [Sampling(temperature=1.0), Sampling(temperature=0.7, top_k=5, top_p=0.8)]


def assert_follows(tokens: list[int], row: Array) -> None:
    counts = Counter(tokens)
    possible = np.flatnonzero(row).tolist()
    assert set(counts) <= set(possible)
    expected = row[possible].astype(float) / row[possible].astype(float).sum() * len(tokens)
    assert chisquare([counts[token] for token in possible], expected).pvalue > 1e-3


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_choices_over_positions_follow_the_target(sampling: Sampling, rule: AcceptanceRule) -> None:
    sampler = Sampler(sampling, rule)
    assert_follows([sampler.choose(LOGITS, position) for position in range(4000)], probabilities(LOGITS, sampling))


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.trap(2)
@pytest.mark.trap(4)
def test_with_rejection_a_drafters_choice_follows_the_row_reported_with_it(sampling: Sampling) -> None:
    sampler = Sampler(sampling, "rejection")
    picks = [sampler.pick(LOGITS, 0) for _ in range(5000)]
    row = picks[0][1]
    assert row is not None
    assert row.dtype == np.float32
    assert np.array_equal(row, probabilities(LOGITS, sampling)), "p and q go through the same function"
    assert_follows([token for token, _ in picks], row)


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_coupled_a_drafters_choice_is_the_targets_from_the_same_logits(sampling: Sampling) -> None:
    sampler, other = Sampler(sampling), Sampler(sampling)
    for position in (7, 3, 200, 3):
        assert sampler.pick(LOGITS, position) == (other.choose(LOGITS, position), None)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.trap(3)
def test_a_greedy_choice_is_the_first_maximum_and_has_no_row(rule: AcceptanceRule) -> None:
    sampler = Sampler(Sampling(), rule)
    assert sampler.pick(LOGITS, 0) == (int(LOGITS.argmax()), None)
    assert sampler.choose(np.zeros(5, dtype=np.float32), 0) == 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("temperature", [0.0, 1e-7, 1e-6, 1e-3])
@pytest.mark.trap(20)
def test_low_temperatures_accept_what_greedy_accepts(temperature: float, rule: AcceptanceRule) -> None:
    sampler = Sampler(Sampling(temperature=temperature), rule)
    logits = np.random.default_rng(0).normal(0, 5, (6, 50)).astype(np.float32)
    best = logits.argmax(axis=-1).tolist()
    for right in range(6):
        tokens = [*best[:right], *((token + 1) % 50 for token in best[right:5])]
        assert sampler.accept(Draft(tuple(tokens[:5]), "test"), logits, 10) == Accepted(right, best[right])


def test_the_noise_of_a_position_is_the_same_whatever_was_drawn_before() -> None:
    sampler = Sampler(SAMPLINGS[0])
    choices = [sampler.choose(LOGITS, position) for position in range(30)]
    assert [sampler.choose(LOGITS, position) for position in reversed(range(30))] == choices[::-1]
    rows = np.tile(LOGITS, (4, 1))
    assert sampler.accept(Draft(tuple(choices[11:14])), rows, 11) == Accepted(3, choices[14])


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_repeats_and_another_does_not(rule: AcceptanceRule) -> None:
    def drawn(seed: int) -> list[int]:
        sampler = Sampler(Sampling(temperature=1.0, seed=seed), rule)
        return [sampler.choose(LOGITS, position) for position in range(40)]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in (0, 1, 2, 2**64 - 1)}) == 4


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.trap(21)
def test_temperature_one_gives_more_than_one_text(rule: AcceptanceRule) -> None:
    chosen = {Sampler(Sampling(temperature=1.0, seed=seed), rule).pick(LOGITS, 0)[0] for seed in range(20)}
    assert len(chosen) >= 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.trap(28)
def test_a_row_without_meaning_is_an_error_once_it_is_needed(
    poison: float, temperature: float, rule: AcceptanceRule
) -> None:
    # NaN compares as neither greater nor less: a careless rule accepts everything
    sampler = Sampler(Sampling(temperature=temperature), rule)
    certain = np.full((4, 8), -1000.0, dtype=np.float32)
    certain[range(4), [1, 2, 3, 4]] = 1000.0
    certain[2] = poison
    with pytest.raises(NonFiniteLogitsError, match="not finite"):
        sampler.accept(Draft((1, 2, 3), "test"), certain, 5)
    assert sampler.accept(Draft((1, 7, 3), "test"), certain, 5) == Accepted(1, 2), "plain decoding never sees that row"
    for choice in (sampler.choose, sampler.pick):
        with pytest.raises(NonFiniteLogitsError):
            choice(certain[2], 5)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sampling", [Sampling(), *SAMPLINGS])
def test_torch_accepts_what_numpy_accepts(sampling: Sampling, rule: AcceptanceRule) -> None:
    torch = pytest.importorskip("torch")
    logits = np.random.default_rng(1).normal(0, 1, (5, 30)).astype(np.float32)
    ours, theirs = Sampler(sampling, rule), Sampler(sampling, rule)
    for position in range(100, 140):
        draft = Draft(tuple(logits.argmax(axis=-1)[:4].tolist()), "test")
        assert theirs.accept(draft, torch.from_numpy(logits), position) == ours.accept(draft, logits, position)
        assert theirs.choose(torch.from_numpy(logits[0]), position) == ours.choose(logits[0], position)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=float("nan")),
        Sampling(temperature=-0.1),
        Sampling(temperature=float("inf")),
        Sampling(top_k=-1),
        Sampling(top_p=1.01),
        Sampling(top_p=-0.1),
        Sampling(top_p=float("nan")),
        Sampling(seed=-1),
    ],
)
@pytest.mark.trap(23)
def test_settings_without_meaning_are_refused_by_name(sampling: Sampling) -> None:
    # a temperature of NaN silently wrote token 0 for ever, a negative one was taken for greedy
    changed = next(name for name in ("temperature", "top_k", "top_p", "seed") if _differs(sampling, name))
    with pytest.raises(EngineError, match=f"^{changed} .* is not between"):
        Sampler(sampling)


def _differs(sampling: Sampling, name: str) -> bool:
    return bool(getattr(sampling, name) != getattr(Sampling(), name))
