import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.cost import MEASURED_ROWS, LiveCost, PassCost, _rising, measure_cost, measure_draft_step
from drafting.interface import Array
from tests.fakes import NumpyModel


def cost(*points: tuple[int, float]) -> PassCost:
    return PassCost(tuple(rows for rows, _ in points), tuple(milliseconds for _, milliseconds in points))


def test_costs_between_and_beyond_measured_rows_follow_the_line() -> None:
    curve = cost((2, 20.0), (4, 30.0), (8, 31.0))
    assert [curve.of(rows) for rows in (1, 2, 3, 4, 6, 8, 12)] == [20.0, 20.0, 25.0, 30.0, 30.5, 31.0, 32.0]


@given(st.lists(st.floats(0.1, 100.0), min_size=1, max_size=12))
def test_smoothed_costs_never_fall_and_keep_their_mean(values: list[float]) -> None:
    smooth = _rising(values)
    assert list(smooth) == sorted(smooth)
    assert sum(smooth) == pytest.approx(sum(values), abs=0.01 * len(values))


def test_measuring_leaves_an_empty_cache_and_asks_little() -> None:
    model = NumpyModel()
    measured = measure_cost(model)
    assert measured.rows == MEASURED_ROWS
    assert model.held == []
    assert len(model.blocks) < 70


def test_a_short_window_is_measured_as_far_as_it_goes() -> None:
    assert measure_cost(NumpyModel(context_length=64)).rows == MEASURED_ROWS


def test_a_slower_machine_changes_no_proportions() -> None:
    live = LiveCost(PassCost((1, 8, 16), (10.0, 20.0, 40.0)))
    for _ in range(200):
        live.learn(1, 20.0)
    assert live.of(1) == pytest.approx(20.0, rel=0.1)
    assert live.of(8) / live.of(1) == pytest.approx(2.0, rel=0.1)


def test_passes_of_one_size_that_cost_more_than_the_table_says() -> None:
    live = LiveCost(PassCost((1, 8, 16), (10.0, 20.0, 40.0)))
    for _ in range(300):
        live.learn(1, 10.0)
        live.learn(8, 30.0)
    assert live.of(8) / live.of(1) == pytest.approx(3.0, rel=0.1)
    assert live.of(1) <= live.of(8) <= live.of(16)


def test_one_pass_that_waited_for_something_moves_little() -> None:
    live = LiveCost(PassCost((1, 8), (10.0, 20.0)))
    live.learn(8, 20_000.0)
    assert live.of(8) / live.of(1) < 2.5


def test_a_table_that_was_wrong_from_the_start_is_soon_put_right() -> None:
    live = LiveCost(PassCost((1, 8, 16), (10.0, 11.0, 12.0)))
    for _ in range(60):
        live.learn(1, 10.0)
        live.learn(8, 40.0)
    assert live.of(8) / live.of(1) > 2.5


@pytest.mark.parametrize(
    ("rows", "milliseconds"),
    [((1,), (1.0,)), ((1, 1), (1.0, 2.0)), ((2, 1), (1.0, 2.0)), ((1, 2), (0.0, 1.0)), ((1, 2), (1.0, float("nan")))],
)
def test_a_table_that_says_nothing_is_refused(rows: tuple[int, ...], milliseconds: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="cannot cost"):
        PassCost(rows, milliseconds)


def test_a_draft_token_is_measured_by_single_rows_and_leaves_nothing() -> None:
    model = NumpyModel()
    assert measure_draft_step(model) > 0
    assert model.held == []
    assert set(model.blocks[1:]) == {1}


def test_a_pass_that_is_not_padded_is_what_plain_decoding_takes() -> None:
    class Padding(NumpyModel):
        def extend(self, tokens: Sequence[int], *, last: int | None = None) -> Array:
            time.sleep(0.002 * max(len(tokens), self.min_rows))
            return super().extend(tokens, last=last)

    model = Padding()
    model.min_rows = 8
    measured = measure_cost(model)
    assert measured.plain < measured.of(1) / 2
    assert model.min_rows == 8
    assert cost((1, 5.0), (2, 6.0)).plain == 5.0
