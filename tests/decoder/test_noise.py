"""Noise is a function of seed, position and token, and looks like chance."""

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, pearsonr

from decoder.noise import Noise, split_mix
from drafting.interface import Array

TOKENS = np.arange(50_000)


@pytest.mark.parametrize(
    ("start", "outputs"),
    [
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]),
        (1234567, [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]),
    ],
)
def test_the_generator_is_split_mix_64(start: int, outputs: list[int]) -> None:
    # published outputs of the reference implementation
    assert [int(bits) % 2**64 for bits in split_mix(np.arange(len(outputs)), start)] == outputs


@pytest.mark.parametrize("start", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_torch_computes_the_same_bits(start: int) -> None:
    torch = pytest.importorskip("torch")
    assert np.array_equal(split_mix(torch.arange(1000), start).numpy(), split_mix(TOKENS[:1000], start))


def test_a_seed_means_the_same_texts_for_ever() -> None:
    found = Noise(2**64 - 1).exponential(np.array([0, 1, 49_151]), 1_000)
    assert found == pytest.approx([0.43371240940726735, 0.2399180176861612, 0.7253823687249858], rel=1e-12)


def test_neither_order_nor_company_changes_the_numbers() -> None:
    noise = Noise(3)
    late = noise.exponential(TOKENS, 900)
    early = noise.exponential(TOKENS, 2)
    asked = np.array([49_999, 7, 20_000])
    assert np.array_equal(Noise(3).exponential(asked, 2), early[asked])
    assert np.array_equal(Noise(3).exponential(asked, 900), late[asked])
    assert not np.isin(early, late).any()


def test_all_seeds_positions_and_tokens_have_their_own_numbers() -> None:
    seen = np.concatenate(
        [
            Noise(seed).exponential(TOKENS[:500], position)
            for seed in (0, 1, 2, 2**63, 2**64 - 1)
            for position in range(40)
        ]
    )
    assert len(np.unique(seen)) == seen.size


def test_the_numbers_are_exponential_and_never_zero_or_infinite() -> None:
    numbers = np.concatenate([Noise(5).exponential(TOKENS, position) for position in range(4)])
    assert kstest(numbers, "expon").pvalue > 1e-3
    assert numbers.min() > 0.0
    assert np.isfinite(numbers).all()


def test_neighbours_know_nothing_of_each_other() -> None:
    rows = np.array([np.exp(-Noise(seed).exponential(TOKENS, position)) for seed in (0, 1) for position in (7, 8)])
    pairs = [(rows[0, 1:], rows[0, :-1]), (rows[0], rows[1]), (rows[0], rows[2]), (rows[0, 1:], rows[1, :-1])]
    for one, other in pairs:  # next token, next position, next seed, both
        assert abs(pearsonr(one, other).statistic) < 4 / np.sqrt(len(one))


@pytest.mark.parametrize("vocabulary", [8, 20_000])
def test_choices_over_positions_follow_the_weights(vocabulary: int) -> None:
    # the larger vocabulary takes several blocks
    weights = np.zeros(vocabulary, dtype=np.float32)
    places = np.linspace(0, vocabulary - 1, 8).astype(int)
    weights[places] = [1, 2, 3, 4, 5, 6, 7, 4]
    noise = Noise(11)
    counts = np.bincount([noise.choose(weights, position) for position in range(4000)], minlength=vocabulary)
    assert counts[weights == 0].sum() == 0
    assert chisquare(counts[places], weights[places] * 125).pvalue > 1e-3


def dense(vocabulary: int) -> Array:
    return np.random.default_rng(0).random(vocabulary).astype(np.float32)


@pytest.mark.parametrize("vocabulary", [1, 3, 8192, 8193, 30_000])
def test_a_choice_is_the_largest_of_log_weight_plus_gumbel_noise(vocabulary: int) -> None:
    weights, noise = dense(vocabulary), Noise(1)
    for position in range(20):
        gumbel = -np.log(noise.exponential(np.arange(vocabulary), position))
        assert noise.choose(weights, position) == int(np.argmax(np.log(weights.astype(np.float64)) + gumbel))


def test_torch_chooses_what_numpy_chooses() -> None:
    torch = pytest.importorskip("torch")
    weights, noise = dense(30_000), Noise(1)
    for position in range(20):
        assert noise.choose(torch.from_numpy(weights), position) == noise.choose(weights, position)
