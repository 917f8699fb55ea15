import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.cost import LOOKUP_SURVIVAL, MEASURED_ROWS, PassCost, _rising, best_gamma, measure_cost
from tests.fakes import NumpyModel


def cost(*points: tuple[int, float]) -> PassCost:
    return PassCost(tuple(rows for rows, _ in points), tuple(milliseconds for _, milliseconds in points))


def test_costs_between_and_beyond_measured_rows_follow_the_line() -> None:
    curve = cost((2, 20.0), (4, 30.0), (8, 31.0))
    assert [curve.of(rows) for rows in (1, 2, 3, 4, 6, 8, 12)] == [20.0, 20.0, 25.0, 30.0, 30.5, 31.0, 32.0]


def test_where_rows_are_free_the_longest_draft_is_best() -> None:
    assert best_gamma(cost((1, 30.0), (16, 30.1))) == len(LOOKUP_SURVIVAL)


def test_where_rows_cost_as_much_as_passes_nothing_is_drafted() -> None:
    assert best_gamma(cost((1, 10.0), (16, 160.0))) == 0


def test_a_step_in_the_cost_is_not_crossed_for_little() -> None:
    # measured on a processor with AVX2: kernels take four rows at a time
    steps = cost((1, 29.0), (2, 29.0), (3, 31.0), (4, 32.0), (6, 43.0), (8, 49.0), (9, 50.0), (12, 56.0), (16, 66.0))
    assert best_gamma(steps) == 3


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
    assert len(model.blocks) < 60


def test_a_short_window_is_measured_as_far_as_it_goes() -> None:
    assert measure_cost(NumpyModel(context_length=64)).rows == MEASURED_ROWS
