import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.sampling import NonFiniteLogitsError, probabilities
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
    row = probabilities(np.array([logits], dtype=np.float32), sampling)[0]
    assert row.dtype == np.float32
    assert row.sum() == pytest.approx(1.0, abs=1e-5)
    expected = np.array(naive(logits, sampling))
    boundary = 0.0 < sampling.top_p < 1.0 and np.count_nonzero(row) != np.count_nonzero(expected)
    if not boundary:  # a mass that reaches top_p up to rounding may fall on either side
        assert row == pytest.approx(expected, abs=1e-5)


@given(st.lists(LOGITS.map(lambda row: (row * 6)[:6]), min_size=1, max_size=4), SAMPLINGS)
def test_a_row_does_not_depend_on_the_rows_beside_it(rows: list[list[float]], sampling: Sampling) -> None:
    logits = np.array(rows, dtype=np.float32)
    together = probabilities(logits, sampling)
    assert all(np.array_equal(together[i], probabilities(logits[i : i + 1], sampling)[0]) for i in range(len(rows)))


@pytest.mark.parametrize("temperature", [0.0, 1e-7, 1e-6, 1e-3])
def test_low_temperatures_agree_with_greedy(temperature: float) -> None:
    logits = np.random.default_rng(0).normal(0, 5, (200, 50)).astype(np.float32)
    greedy = np.eye(50)[logits.argmax(axis=-1)]
    margin = np.diff(np.sort(logits, axis=-1)[:, -2:])[:, 0]
    clear = margin > 0.02  # the nearest ties are decided by chance at 1e-3, as they must be
    assert clear.sum() > 150
    assert np.array_equal(probabilities(logits, Sampling(temperature=temperature)).round(5)[clear], greedy[clear])


def test_greedy_takes_the_first_of_equals() -> None:
    assert probabilities(np.zeros((1, 3), dtype=np.float32), Sampling()).tolist() == [[1.0, 0.0, 0.0]]


def test_top_k_keeps_exactly_k_of_equals_the_first() -> None:
    row = probabilities(np.zeros((1, 5), dtype=np.float32), Sampling(temperature=1.0, top_k=2))[0]
    assert row.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]


def test_top_p_keeps_the_token_that_reaches_it() -> None:
    logits = np.log(np.array([[0.5, 0.3, 0.2]], dtype=np.float32))
    assert np.count_nonzero(probabilities(logits, Sampling(temperature=1.0, top_p=0.6))) == 2
    assert np.count_nonzero(probabilities(logits, Sampling(temperature=1.0, top_p=0.0))) == 1


def test_the_logits_are_left_as_they_were() -> None:
    logits = np.random.default_rng(0).normal(0, 2, (3, 9)).astype(np.float32)
    before = logits.copy()
    logits.flags.writeable = False
    for sampling in (Sampling(), Sampling(temperature=0.7, top_k=3, top_p=0.5)):
        probabilities(logits, sampling)
    assert (logits == before).all()


def test_huge_logits_do_not_overflow() -> None:
    row = probabilities(np.array([[3e30, 1e30, -3e30]], dtype=np.float32), Sampling(temperature=1.0))[0]
    assert row.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "row", [[0.0, np.nan, 1.0], [np.inf, 0.0, 1.0], [-np.inf, -np.inf, -np.inf], [np.nan, np.nan, np.nan]]
)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_row_without_meaning_is_an_error_not_a_choice(row: list[float], temperature: float) -> None:
    logits = np.array([[0.0, 1.0, 2.0], row], dtype=np.float32)
    with pytest.raises(NonFiniteLogitsError, match="not finite"):
        probabilities(logits, Sampling(temperature=temperature))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7, top_k=5, top_p=0.8)])
def test_torch_gives_what_numpy_gives(sampling: Sampling) -> None:
    torch = pytest.importorskip("torch")
    logits: Array = np.random.default_rng(1).normal(0, 2, (4, 30)).astype(np.float32)
    found = probabilities(torch.from_numpy(logits), sampling).numpy()
    assert found == pytest.approx(probabilities(logits, sampling), abs=1e-6)
