"""Intervals of values whose range is known: by hand, against scipy, by drawing, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.metrics.bounded import TAIL, _beta_quantile, bounded_intervals, fits
from runner.metrics.statistics import Floats


def of_one(values: object, weights: object = None, ends: tuple[float, float] = (0.0, 1.0)) -> tuple[float, float]:
    mass = None if weights is None else np.asarray(weights, dtype=np.float64)[:, None]
    low, high = bounded_intervals(np.asarray(values, dtype=np.float64)[:, None], np.array([ends]), mass)[0]
    return float(low), float(high)


def test_by_hand() -> None:
    """Ten of ten: all are 1 with p**10, .025 at the limit. One of two: both are 0 with (1 - p)**2, .975 there."""
    assert of_one([1.0] * 10) == (pytest.approx(0.6915029, abs=1e-7), 1.0)
    assert of_one([0.0] * 10) == (0.0, pytest.approx(0.3084971, abs=1e-7))
    assert of_one([1.0, 0.0]) == pytest.approx((1 - math.sqrt(0.975), math.sqrt(0.975)))
    assert of_one([1.0]) == (pytest.approx(0.025), 1.0)


def test_equal_values_inside_of_the_range() -> None:
    """A share p of unseen cases at an end moves the mean of cases that are .6 to .6 - .6 p, or to .6 + .4 p."""
    unseen = 1 - 0.025**0.1
    assert of_one([0.6] * 10) == pytest.approx((0.6 - 0.6 * unseen, 0.6 + 0.4 * unseen))
    assert of_one([6.0] * 10, ends=(0.0, 10.0)) == pytest.approx((6 - 6 * unseen, 6 + 4 * unseen))


@given(st.integers(1, 400), st.data())
@settings(max_examples=60, deadline=None)
def test_a_proportion_as_scipy_has_it(n: int, data: st.DataObject) -> None:
    ones = data.draw(st.integers(0, n))
    expected = scipy.stats.binomtest(ones, n).proportion_ci(method="exact")
    assert of_one([1.0] * ones + [0.0] * (n - ones)) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 10, 283, 5_000, 100_000])
def test_quantiles_of_beta_distributions_as_scipy_has_them(n: int) -> None:
    ones = np.unique(np.linspace(1, n, 12).astype(int))
    expected = scipy.special.betaincinv(ones, n - ones + 1, TAIL)
    assert [_beta_quantile(float(count), n - float(count) + 1) for count in ones] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("n", [5, 12, 60])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("kind", ["skewed", "uniform", "steps"])
def test_limits_are_quantiles_of_means_with_exponential_weights(n: int, is_weighted: bool, kind: str) -> None:
    random = np.random.default_rng(n)
    drawn = {"skewed": random.beta(8, 0.4, n), "uniform": random.random(n), "steps": random.integers(0, 3, n) / 2}
    values = drawn[kind]
    weights = random.integers(1, 3, n).astype(float) if is_weighted else np.ones(n)
    draws = random.exponential(size=(200_000, n + 1))
    beside = weights.max() * draws[:, n]
    total, mass = draws[:, :n] @ (weights * values), draws[:, :n] @ weights + beside
    expected = np.quantile(total / mass, 0.025), np.quantile((total + beside) / mass, 0.975)
    assert of_one(values, weights if is_weighted else None) == pytest.approx(expected, abs=0.006)


VALUES = st.lists(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)), min_size=1, max_size=30)


@given(VALUES, st.data())
@settings(max_examples=150, deadline=None)
def test_it_holds_the_mean_lies_in_the_range_has_a_width_and_a_mirror_image(values: list[float], data: st.DataObject):
    weights = data.draw(st.none() | st.lists(st.floats(0.1, 10), min_size=len(values), max_size=len(values)))
    low, high = of_one(values, weights)
    assert (
        0 <= low <= np.average(values, weights=weights) + 1e-9
        and np.average(values, weights=weights) - 1e-9 <= high <= 1
    )
    assert high - low > 0.01
    near = 0.005  # values close to 0 are lost in 1 - value, and of yes and no the limit is exact
    assert of_one(1 - np.array(values), weights) == pytest.approx((1 - high, 1 - low), abs=near)


@given(VALUES)
@settings(max_examples=50, deadline=None)
def test_it_shrinks_as_the_same_values_come_again(values: list[float]) -> None:
    once, twice, often = (of_one(values * times) for times in (1, 2, 16))
    assert twice[1] - twice[0] < once[1] - once[0]
    assert often[1] - often[0] < twice[1] - twice[0]


def test_equal_weights_change_nothing() -> None:
    values = np.random.default_rng(1).random(40)
    assert of_one(values, np.full(40, 3.0)) == of_one(values)
    assert of_one(values, np.r_[3.0 + 1e-9, np.full(39, 3.0)]) == pytest.approx(of_one(values), abs=1e-7)


def test_a_column_has_the_same_interval_beside_any_others() -> None:
    random = np.random.default_rng(2)
    values = np.column_stack([random.random((60, 4)), random.integers(0, 5, (60, 4)) / 4, np.ones(60)])
    together = bounded_intervals(values, np.repeat([(0.0, 1.0)], 9, axis=0))
    assert [tuple(limits) for limits in together.tolist()] == [of_one(column) for column in values.T]


@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_values_whose_squares_vanish(weights: list[float] | None) -> None:
    low, high = of_one([0.0, 1e-308], weights)
    assert low == 0.0 and 0.8 < high < 1.0


def test_what_fits_a_range() -> None:
    values = np.array([[0.0, 0.5, 0.5, 0.5], [1.0 + 1e-12, 1.1, 0.5, 0.5]])
    ranges = np.array([(0.0, 1.0), (0.0, 1.0), (0.0, np.inf), (-np.inf, np.inf)])
    assert fits(values, ranges).tolist() == [True, False, False, False]
    assert of_one(values[:, 0])[1] <= 1.0


COVERED: dict[str, tuple[float, object]] = {
    "proportion": (0.99, lambda random, shape: (random.random(shape) < 0.99) * 1.0),
    "recall": (0.92, lambda random, shape: random.choice([0.0, 0.5, 1.0], shape, p=[0.03, 0.1, 0.87])),
    "skewed": (8 / 8.4, lambda random, shape: random.beta(8, 0.4, shape)),
}


@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.parametrize("kind", COVERED)
def test_it_covers_the_mean(kind: str, n: int) -> None:
    truth, draw = COVERED[kind]
    values: Floats = draw(np.random.default_rng(n), (n, 1000))  # type: ignore[operator]
    low, high = bounded_intervals(values, np.repeat([(0.0, 1.0)], 1000, axis=0)).T
    assert np.mean((low <= truth) & (truth <= high)) >= 0.94
