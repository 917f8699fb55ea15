import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.sampling import NonFiniteLogitsError, most_likely, probabilities
from decoder.wire.messages import Sampling
from drafting.interface import Array

LOGITS = st.lists(st.sampled_from([-4.0, -1.0, 0.0, 0.5, 1.0, 3.0, -np.inf]), min_size=2, max_size=12).filter(
    lambda row: max(row) > -np.inf
)
SAMPLINGS = st.builds(
    Sampling,
    temperature=st.sampled_from([0.3, 0.7, 1.0, 2.0]),
    top_k=st.integers(0, 14),
    top_p=st.sampled_from([0.0, 0.1, 0.5, 0.8, 0.95, 1.0]),
)


def naive(logits: list[float], sampling: Sampling) -> list[float]:
    """Temperature, top-k, top-p one token at a time, in double precision."""
    peak = max(logits)
    weights = [float(np.exp((logit - peak) / sampling.temperature)) for logit in logits]
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    kept = order[: sampling.top_k] if sampling.top_k else order
    mass, total = 0.0, sum(weights[token] for token in kept)
    nucleus: list[int] = []
    for token in kept:
        if nucleus and mass >= sampling.top_p * total - 1e-6 and sampling.top_p < 1.0:
            break
        nucleus.append(token)
        mass += weights[token]
    return [weights[token] / mass if token in nucleus else 0.0 for token in range(len(weights))]


@given(LOGITS, SAMPLINGS)
def test_agrees_with_the_definition_token_by_token(logits: list[float], sampling: Sampling) -> None:
    row = probabilities(np.array(logits, dtype=np.float32), sampling)
    assert row.dtype == np.float32
    assert row.sum() == pytest.approx(1.0, abs=1e-5)
    expected = np.array(naive(logits, sampling))
    boundary = 0.0 < sampling.top_p < 1.0 and np.count_nonzero(row) != np.count_nonzero(expected)
    if not boundary:  # a mass that reaches top_p up to rounding may fall on either side
        assert row == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("temperature", [1e-6, 1e-3])
@pytest.mark.trap(20)
def test_low_temperatures_agree_with_greedy(temperature: float) -> None:
    logits = np.random.default_rng(0).normal(0, 5, (200, 50)).astype(np.float32)
    margin = np.diff(np.sort(logits, axis=-1)[:, -2:])[:, 0]
    clear = logits[margin > 0.02]  # the nearest ties are decided by chance at 1e-3, as they must be
    assert len(clear) > 150
    for row, best in zip(clear, most_likely(clear), strict=True):
        assert probabilities(row, Sampling(temperature=temperature))[best] > 0.99999


def test_greedy_takes_the_first_of_equals() -> None:
    assert list(most_likely(np.array([[0, 0, 0], [0, 2, 2]], dtype=np.float32))) == [0, 1]


def test_top_k_keeps_exactly_k_of_equals_the_first() -> None:
    row = probabilities(np.zeros(5, dtype=np.float32), Sampling(temperature=1.0, top_k=2))
    assert row.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]


def test_top_p_keeps_the_token_that_reaches_it() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2], dtype=np.float32))
    assert np.count_nonzero(probabilities(logits, Sampling(temperature=1.0, top_p=0.6))) == 2
    assert np.count_nonzero(probabilities(logits, Sampling(temperature=1.0, top_p=0.0))) == 1


@pytest.mark.trap(26)
def test_the_logits_are_left_as_they_were() -> None:
    logits = np.random.default_rng(0).normal(0, 2, 9).astype(np.float32)
    before = logits.copy()
    logits.flags.writeable = False
    for sampling in (Sampling(temperature=1.0), Sampling(temperature=0.7, top_k=3, top_p=0.5)):
        probabilities(logits, sampling)
    list(most_likely(logits[None, :]))
    assert (logits == before).all()


def test_huge_logits_do_not_overflow() -> None:
    row = probabilities(np.array([3e30, 1e30, -3e30], dtype=np.float32), Sampling(temperature=1.0))
    assert row.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "row", [[0.0, np.nan, 1.0], [np.inf, 0.0, 1.0], [-np.inf, -np.inf, -np.inf], [np.nan, np.nan, np.nan]]
)
@pytest.mark.trap(28)
def test_a_row_without_meaning_is_an_error_not_a_choice(row: list[float]) -> None:
    logits = np.array([[0.0, 1.0, 2.0], row], dtype=np.float32)
    with pytest.raises(NonFiniteLogitsError, match="not finite"):
        probabilities(logits[1], Sampling(temperature=1.0))
    tokens = most_likely(logits)
    assert next(tokens) == 2
    with pytest.raises(NonFiniteLogitsError, match="not finite"):
        next(tokens)


@pytest.mark.parametrize("top_p", [0.0, 0.5, 0.9, 0.99999])
def test_leaving_out_what_cannot_belong_to_the_nucleus_changes_nothing(top_p: float) -> None:
    for spread in (0.0, 0.1, 3.0, 12.0):
        logits = np.random.default_rng(4).normal(0, spread, 3000).astype(np.float32)
        row = probabilities(logits, Sampling(temperature=1.0, top_p=top_p))
        exact = np.exp(np.sort(logits.astype(np.float64))[::-1] - logits.max())
        mass = exact.cumsum() / exact.sum()
        assert mass[np.count_nonzero(row) - 1] >= top_p - 1e-4
        assert np.count_nonzero(row) == 1 or mass[np.count_nonzero(row) - 2] <= top_p + 1e-4


@pytest.mark.parametrize("sampling", [Sampling(temperature=1.0), Sampling(temperature=0.7, top_k=5, top_p=0.8)])
def test_torch_gives_what_numpy_gives(sampling: Sampling) -> None:
    torch = pytest.importorskip("torch")
    logits: Array = np.random.default_rng(1).normal(0, 2, (4, 30)).astype(np.float32)
    assert list(most_likely(torch.from_numpy(logits))) == list(most_likely(logits))
    for row in logits:
        found = probabilities(torch.from_numpy(row), sampling).numpy()
        assert found == pytest.approx(probabilities(row, sampling), abs=1e-6)
