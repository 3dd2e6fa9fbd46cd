"""Means, intervals and percentiles: by hand, against scipy, and by simulation."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.statistics import (
    FEWEST_POSITIVE,
    _means_without,
    bca_interval,
    bca_intervals,
    mean,
    mean_intervals,
    percentiles,
    resampled_counts,
)
from tests.intervals import mean_interval


def test_mean():
    assert mean(np.array([])) is None
    assert mean(np.array([1.0, 2.0, 4.5])) == 2.5
    assert mean(np.array([1.0, 0.0]), np.array([3.0, 1.0])) == 0.75
    assert mean(np.array([0.1] * 10)) == 0.1  # sums are rounded once
    assert mean(np.array([0.1] * 3)) == 0.1  # and a mean stays within its values


@pytest.mark.parametrize(
    ("values", "ranks", "expected"),
    [
        ([], (50, 95), (None, None)),
        ([7.0], (50, 95), (7.0, 7.0)),
        ([4.0, 1.0, 3.0, 2.0], (0, 50, 100), (1.0, 2.5, 4.0)),
        ([float(n) for n in range(1, 21)], (50, 95), (10.5, 19.05)),  # 0.95 * 19 = 18.05 places up from 1
    ],
)
def test_percentiles(values, ranks, expected):
    assert percentiles(values, ranks) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[0.7], [0.3] * 8, [0.0] * 3])
def test_nothing_tells_the_interval_of_equal_values_without_a_range(values):
    assert np.isnan(mean_interval(np.array(values), seed=1)).all()
    assert np.isnan(mean_interval(np.array(values), np.ones(len(values)), seed=1)).all()


def test_columns_with_a_range_and_without_one_stand_side_by_side():
    values = np.column_stack([np.ones(25), np.ones(25), np.arange(25.0), np.arange(25.0) / 24])
    ranges = np.array([(0.0, 1.0), (-np.inf, np.inf), (0.0, 1.0), (0.0, np.inf)])  # values of the third lie outside
    found = mean_intervals(values, ranges=ranges, seed=1)
    assert found[0] == pytest.approx((0.025 ** (1 / 25), 1.0)) and np.isnan(found[1]).all()
    assert found[2:].tolist() == mean_intervals(values[:, 2:], seed=1).tolist()


def bca(values, weights=None, **options):
    low, high = bca_intervals(values[:, None], None if weights is None else weights[:, None], **options)[0]
    return low, high


SAMPLES = {
    "uniform": lambda random, n: random.random(n),
    "skewed": lambda random, n: random.exponential(size=n),
    "yes or no": lambda random, n: (random.random(n) < 0.2) * 1.0,
    "large and negative": lambda random, n: random.normal(-5000, 300, n),
    "thirds": lambda random, n: random.integers(0, 4, n) / 3,
}


@pytest.mark.parametrize("n", [12, 40, 300])
@pytest.mark.parametrize("kind", SAMPLES)
def test_against_scipy(kind, n):
    values = SAMPLES[kind](np.random.default_rng(n), n)
    low, high = bca(values, seed=1, resamples=20_000)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=20_000, random_state=np.random.default_rng(2), batch=2000
    ).confidence_interval
    # Limits of 20,000 resamples scatter by about 1/60 of the width; a mean of few values moves in steps.
    step = np.min(np.diff(np.unique(values))) / n if kind in ("yes or no", "thirds") else 0.0
    margin = 0.06 * (high - low) + 1.01 * step
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=margin)


@pytest.mark.parametrize("n", [14, 30])
def test_limits_from_the_resampled_means_of_scipy(n):
    """Without the noise of other resamples the limits agree to rounding."""
    values, weights = np.random.default_rng(n).exponential(size=n), np.arange(1.0, n + 1)
    for arrays, statistic in (
        ((values,), lambda v, axis: v.mean(axis=axis)),
        ((values, weights), lambda v, w, axis: (v * w).sum(axis=axis) / w.sum(axis=axis)),
    ):
        found = scipy.stats.bootstrap(
            arrays, statistic, method="BCa", paired=True, vectorized=True, random_state=np.random.default_rng(2)
        )
        limits = bca_interval(found.bootstrap_distribution, mean(*arrays), _means_without(*arrays))
        assert limits == pytest.approx((found.confidence_interval.low, found.confidence_interval.high), rel=1e-9)


def test_where_no_case_matters_more_than_another_the_limits_are_percentiles():
    assert bca_interval(np.arange(1001.0), 500.0, np.full(8, 0.5)) == pytest.approx((25, 975))


def test_resampled_means_that_equal_the_mean_but_for_rounding_count_as_equal():
    whole = np.random.default_rng(3).integers(0, 4, 11).astype(float)
    low, high = bca(whole, seed=1)
    assert bca(whole / 3, seed=1) == pytest.approx((low / 3, high / 3), abs=1e-9)
    assert bca(whole / 7, seed=1) == pytest.approx((low / 7, high / 7), abs=1e-9)


def test_tiny_values_have_an_interval_too():
    values = np.array([0.0, 1e-200, 3e-200, 0.0, 1e-200])
    assert np.array(bca(values, seed=1)) * 1e200 == pytest.approx(bca(values * 1e200, seed=1))


def test_weights_are_those_of_repeated_observations_in_the_estimate():
    """A weighted mean resamples cases, not observations: an interval for pairs (2 tp, predicted + actual)."""
    random = np.random.default_rng(5)
    values, weights = random.random(200), random.integers(1, 4, 200).astype(float)
    low, high = bca(values, weights, seed=1, resamples=20_000)
    expected = scipy.stats.bootstrap(
        (values, weights),
        lambda v, w, axis: (v * w).sum(axis=axis) / w.sum(axis=axis),
        method="BCa",
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        random_state=np.random.default_rng(2),
        batch=2000,
    ).confidence_interval
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.06 * (high - low))


@pytest.mark.parametrize("kind", ["skewed", "yes or no"])
def test_ninety_five_of_a_hundred_intervals_cover_the_true_mean(kind):
    truth = {"skewed": 1.0, "yes or no": 0.2}[kind]
    samples = np.column_stack([SAMPLES[kind](np.random.default_rng(seed), 97) for seed in range(1000)])
    low, high = bca_intervals(samples, seed=3, resamples=1000).T
    covered = np.mean((low <= truth) & (truth <= high))
    assert 0.92 <= covered <= 0.97


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    values = np.random.default_rng(1).random(50)
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1) != mean_interval(values, seed=2)


def test_an_interval_does_not_depend_on_the_other_columns():
    values = np.random.default_rng(1).random((60, 9))
    together = mean_intervals(values, seed=4)
    for column in range(9):
        assert tuple(together[column]) == mean_interval(values[:, column], seed=4)


def test_many_cases_are_resampled_in_blocks(monkeypatch):
    values = np.random.default_rng(1).random((70, 3))
    whole = mean_intervals(values, seed=4, resamples=500)
    monkeypatch.setattr("runner.metrics.statistics._BLOCK", 70 * 13)  # 13 rows a block: the last one is smaller
    assert np.array_equal(mean_intervals(values, seed=4, resamples=500), whole)
    blocks = [counts.sum(axis=1).tolist() for counts in resampled_counts(70, seed=4, resamples=28)]
    assert blocks == [[70] * 13, [70] * 13, [70] * 2]


def test_equal_weights_change_nothing():
    values = np.random.default_rng(1).random((60, 2))
    assert mean_intervals(values, np.full_like(values, 2.0), seed=4) == pytest.approx(mean_intervals(values, seed=4))


NEHALEM, SANDYBRIDGE = {"OPENBLAS_CORETYPE": "Nehalem"}, {"OPENBLAS_CORETYPE": "Sandybridge"}
THREADS = """
import hashlib, numpy as np
from runner.metrics.statistics import mean_intervals
values = np.random.default_rng(1).random((3001, 47))
print(hashlib.sha256(mean_intervals(values, 1 + values, seed=1, resamples=300).tobytes()).hexdigest())
"""


def test_any_number_of_blas_threads_gives_the_same_bytes():
    """On the kernels of two other processors, too; not Haswell, whose matrix product ends the process in OpenBLAS
    0.3.34 (numpy 2.5) where it is asked for on a processor with AVX-512."""
    found = {
        subprocess.run(
            [sys.executable, "-c", THREADS],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads} | core,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads, core in (("1", {}), ("2", {}), ("1", NEHALEM), ("2", SANDYBRIDGE))
    }
    assert len(found) == 1


numbers = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(st.tuples(numbers, st.floats(0.1, 10)), min_size=1, max_size=12))
def test_an_interval_lies_within_the_values(pairs):
    values, weights = (np.array(column) for column in zip(*pairs, strict=True))
    for interval in (
        mean_interval(values, seed=0, resamples=50),
        mean_interval(values, weights, seed=0, resamples=50),
    ):
        low, high = interval
        if (values == values[0]).all() or (values >= 0).all():
            assert np.isnan(interval).all()
            continue
        slack = 1e-9 * np.abs(values).max()
        assert values.min() - slack <= low <= high <= values.max() + slack


# --- values that are not below 0 ---------------------------------------------------------------------


def test_the_studentised_interval_by_plain_loops():
    """Every resample by itself: its deviation in errors of its own."""
    random = np.random.default_rng(8)
    values, weights = random.lognormal(size=25), random.integers(1, 4, 25).astype(float)
    low, high = mean_interval(values, weights, seed=1, resamples=300)
    middle = np.average(values, weights=weights)

    def error(v, w):
        return np.sqrt((w**2 * (v - np.average(v, weights=w)) ** 2).sum()) / w.sum()

    drawn = []
    for counts in np.vstack(list(resampled_counts(25, seed=1, resamples=300))):
        places = np.repeat(np.arange(25), counts.astype(int))
        v, w = values[places], weights[places]
        drawn.append((np.average(v, weights=w) - middle) / error(v, w))
    by_hand = middle - error(values, weights) * np.quantile(drawn, [0.975, 0.005])
    assert (low, high) == pytest.approx((max(by_hand[0], 0.0), by_hand[1]))


def test_too_few_costs_have_no_interval():
    costs = np.random.default_rng(1).lognormal(size=FEWEST_POSITIVE)
    assert np.isnan(mean_interval(costs[1:], seed=1)).all()
    assert np.isfinite(mean_interval(costs, seed=1)).all()
    assert np.isfinite(mean_interval(costs[1:] - 1, seed=1)).all()  # some are below 0


def test_an_interval_of_costs_follows_their_unit_and_does_not_fall_below_zero():
    costs = np.append(np.zeros(40), [1.0, 30.0])
    low, high = mean_interval(costs, seed=1)
    assert 0.0 <= low < costs.mean() < high
    assert mean_interval(costs * 1e-6, seed=1) == pytest.approx((low * 1e-6, high * 1e-6))


def test_a_long_tail_is_covered():
    """200 samples of 50 lognormal costs: BCa covers fewer than nine of ten."""
    samples = np.random.default_rng(3).lognormal(0, 1.25, (50, 200))
    truth = np.exp(1.25**2 / 2)
    covered, by_bca = (
        np.mean((low <= truth) & (truth <= high))
        for low, high in (mean_intervals(samples, seed=3, resamples=500).T, bca_intervals(samples, seed=3).T)
    )
    assert covered >= 0.92 and by_bca < 0.9
