from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from decoder.engine import EngineError
from decoder.sampler import Sampler
from decoder.wire.messages import Sampling

LOGITS = np.random.default_rng(2).normal(0.0, 1.5, 8).astype(np.float32)


@pytest.mark.parametrize("sampling", [Sampling(temperature=1.0), Sampling(temperature=0.7, top_k=5, top_p=0.8)])
def test_a_drafters_choice_follows_the_row_reported_with_it(sampling: Sampling) -> None:
    sampler = Sampler(sampling)
    picks = [sampler.pick(LOGITS, 0) for _ in range(5000)]
    row = picks[0][1]
    assert row is not None
    assert row == pytest.approx(sampler.probabilities(LOGITS[None, :])[0])
    counts = Counter(token for token, _ in picks)
    possible = np.flatnonzero(row).tolist()
    assert set(counts) <= set(possible)
    expected = row[possible].astype(float) / row[possible].astype(float).sum() * len(picks)
    assert chisquare([counts[token] for token in possible], expected).pvalue > 1e-3


def test_a_greedy_choice_has_no_row() -> None:
    assert Sampler(Sampling()).pick(LOGITS, 0) == (int(LOGITS.argmax()), None)


def test_the_same_seed_repeats_and_another_does_not() -> None:
    def drawn(seed: int) -> list[float]:
        sampler = Sampler(Sampling(temperature=1.0, seed=seed))
        return [sampler.uniform() for _ in range(20)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert all(0.0 <= u < 1.0 for u in drawn(1))


def test_uniforms_are_double_precision() -> None:
    # float32 draws are zero once in 17 million, and then accept a token at random
    sampler = Sampler(Sampling(temperature=1.0))
    assert any(float(np.float32(u)) != u for u in (sampler.uniform() for _ in range(10)))


def test_temperature_one_gives_more_than_one_text() -> None:
    chosen = {Sampler(Sampling(temperature=1.0, seed=seed)).pick(LOGITS, 0)[0] for seed in range(20)}
    assert len(chosen) >= 2


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
def test_settings_without_meaning_are_refused_by_name(sampling: Sampling) -> None:
    # a temperature of NaN silently wrote token 0 for ever, a negative one was taken for greedy
    changed = next(name for name in ("temperature", "top_k", "top_p", "seed") if _differs(sampling, name))
    with pytest.raises(EngineError, match=f"^{changed} .* is not between"):
        Sampler(sampling)


def _differs(sampling: Sampling, name: str) -> bool:
    return bool(getattr(sampling, name) != getattr(Sampling(), name))
