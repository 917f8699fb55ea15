"""Noise by (seed, position, token): whoever asks, and in whatever order, is told the same numbers."""

from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace, is_numpy_namespace

from drafting.interface import Array

_BLOCK = 8192
"""Tokens at a time on a CPU: their numbers stay in its second-level cache through all steps, which halves the time."""


class Noise:
    """Gumbel noise g for every position and token of one request, so that any choice by it can be made again.

    The largest log p + g is a draw from p (Gumbel 1954). With g = -log E, and E exponential, it is also the largest
    p / E, which costs one logarithm instead of three: what is kept here is E.

    The numbers of a position are a SplitMix64 sequence (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
    generators"), a token's id being its place there. The sequence starts where Philox4x64-10 says (Salmon et al. 2011,
    "Parallel random numbers: as easy as 1, 2, 3"), with the seed as its key and the position as its counter.
    """

    def __init__(self, seed: int) -> None:
        """seed: 0 to 2**64 - 1."""
        self._seed = seed

    def choose(self, weights: Array, position: int) -> int:
        """The token with the largest log weight + g at this position, the first of equals.

        weights: [vocabulary], in proportion to p. The noise of tokens that have none is not computed.
        """
        xp = array_namespace(weights)
        (tokens,) = xp.nonzero(weights > 0)
        size = _BLOCK if is_numpy_namespace(xp) else tokens.shape[0]
        best, choice = 0.0, -1
        for first in range(0, tokens.shape[0], size):
            block = tokens[first : first + size]
            race = xp.astype(xp.take(weights, block), xp.float64) / self.exponential(block, position)
            winner = int(xp.argmax(race))
            if race[winner] > best:
                best, choice = float(race[winner]), int(block[winner])
        return choice

    def exponential(self, tokens: Array, position: int) -> Array:
        """E at this position for tokens int64 [n]: float64 [n], exponential with mean 1, never 0."""
        return -array_namespace(tokens).log(_uniform(split_mix(tokens, _start(self._seed, position))))


def split_mix(places: Array, start: int) -> Array:
    """Outputs of the SplitMix64 generator with the state `start`, by their places in its sequence, counted from 0.

    places: int64 [n]. An output's 64 bits come as an int64, as torch has no arithmetic on uint64.
    """
    bits = (places + 1) * _signed(0x9E3779B97F4A7C15) + _signed(start)
    bits = (bits ^ _shifted(bits, 30)) * _signed(0xBF58476D1CE4E5B9)
    bits = (bits ^ _shifted(bits, 27)) * _signed(0x94D049BB133111EB)
    return bits ^ _shifted(bits, 31)


@lru_cache(maxsize=64)  # a draft and the target ask for the same few
def _start(seed: int, position: int) -> int:
    return int(np.random.Philox(key=seed, counter=position).random_raw())


def _uniform(bits: Array) -> Array:
    """The odd multiples of 2**-53 between 0 and 1, neither of which is among them: float64, from 64 random bits."""
    xp = array_namespace(bits)
    return xp.astype(_shifted(bits, 11) | 1, xp.float64) * 2.0**-53


def _shifted(bits: Array, count: int) -> Array:
    """Shifted to the right with zeros coming in, where an int64 would repeat its sign."""
    return bits >> count & 2 ** (64 - count) - 1


def _signed(word: int) -> int:
    """The int64 that has the bits of this 64-bit word."""
    return word - 2**64 if word >= 2**63 else word
