"""A model that still holds earlier sequences."""

from collections.abc import Sequence

from drafting.prefix_cache import common_prefix
from tests.fakes import NumpyModel


class Remembering(NumpyModel):
    """Holds every sequence that it was ever left with, in whole pairs of tokens."""

    def __init__(self) -> None:
        super().__init__(vocabulary=4)
        self._left: list[list[int]] = []

    def recall(self, tokens: Sequence[int]) -> int:
        common = common_prefix(self.held, tokens)
        self._left.append(list(self.held))
        earlier = max(common_prefix(left, tokens) // 2 * 2 for left in self._left)
        self.held = list(tokens[: max(common, earlier)])
        return len(self.held)

    def forget(self) -> None:
        self.held, self._left = [], []
