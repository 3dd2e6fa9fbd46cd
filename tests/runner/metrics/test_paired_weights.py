"""Pairs that count with a weight."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from runner.metrics import statistics
from runner.metrics.paired import compare_weighted
from tests.runner.paired_scores import of_one


def test_weights_by_hand() -> None:
    """F1 as a weighted mean. Baseline: one hit of weight 2 and two misses, 2/4. Candidate: two hits, 4/5."""
    one, other = np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])
    found = compare_weighted(one, other, np.array([2.0, 1.0, 1.0]), np.array([2.0, 2.0, 1.0]), seed=1)
    assert found is not None
    assert (found.n, found.baseline, found.candidate) == (3, 0.5, 0.8)
    assert found.difference == pytest.approx(0.3)
    assert found.p == pytest.approx(1.0, abs=0.03)  # one case differs: both ways of swapping it give 0.3
    assert found.effect_size is None


def test_a_run_without_any_weight() -> None:
    zero, one = np.zeros(3), np.ones(3)
    assert compare_weighted(zero, one, zero, one, seed=1) is None
    assert compare_weighted(one, zero, one, zero, seed=1) is None


def test_a_case_that_counts_in_one_run_only() -> None:
    """Precision of what each run calls unanswerable: 1/2 of cases 0 and 1 against 1/1 of case 2."""
    one, other = np.array([1.0, 0.0, 0.0, 9.0]), np.array([0.0, 0.0, 1.0, 9.0])
    found = compare_weighted(one, other, np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 0]), seed=1)
    assert found is not None
    assert (found.n, found.baseline, found.candidate, found.difference) == (3, 0.5, 1.0, 0.5)
    assert found.low <= 0.5 <= found.high


def test_one_weighted_case() -> None:
    found = compare_weighted(np.array([0.2]), np.array([0.6]), np.array([2.0]), np.array([1.0]), seed=1)
    assert found is not None
    assert found.difference == pytest.approx(0.4)
    assert found.low is None and found.high is None and found.detectable() is None


def test_equal_ratios_of_a_known_range_have_an_interval_with_a_width() -> None:
    """Equal weights in both runs: as without weights."""
    ones = np.ones(10)
    found = compare_weighted(ones, ones, 2 * ones, 2 * ones, seed=1, ends=(0.0, 1.0))
    assert found is not None and not found.differs
    assert (found.low, found.high) == pytest.approx((0.025**0.1 - 1, 1 - 0.025**0.1), abs=1e-9)
    apart = compare_weighted(ones, ones, 2 * ones, np.r_[1.0, 2 * ones[1:]], seed=1, ends=(0.0, 1.0))
    assert apart is not None and apart.low is not None and apart.high is not None
    assert -1 <= apart.low < 0 < apart.high <= 1


def test_p_with_weights_against_all_swaps() -> None:
    random = np.random.default_rng(3)
    values, weights = random.random((2, 9)), random.integers(1, 4, (2, 9)) * 1.0
    found = compare_weighted(values[0], values[1], weights[0], weights[1], seed=1)
    assert found is not None
    sums = np.stack([values * weights, weights])  # [v w or w, run, case]

    def ratio(swaps: tuple[int, ...]) -> float:
        mixed = np.where(np.array(swaps) == 1, sums[:, ::-1], sums).sum(axis=2)
        return float(mixed[0, 1] / mixed[1, 1] - mixed[0, 0] / mixed[1, 0])

    every = np.abs([ratio(swaps) for swaps in itertools.product((0, 1), repeat=9)])
    exact = (every >= abs(found.difference) - 1e-12).mean()
    assert found.p == pytest.approx(exact, abs=5 * math.sqrt(0.25 / 9_999))


def test_weights_of_one_change_nothing() -> None:
    random = np.random.default_rng(8)
    one, other = random.random(200), random.random(200)
    plain, weighted = of_one(one, other, 2), compare_weighted(one, other, np.ones(200), np.ones(200), seed=2)
    assert weighted is not None
    assert weighted.difference == pytest.approx(plain.difference)
    assert weighted.p == pytest.approx(plain.p, abs=0.02)
    assert (weighted.low, weighted.high) == (pytest.approx(plain.low, abs=1e-3), pytest.approx(plain.high, abs=1e-3))
    assert weighted.detectable() == pytest.approx(plain.detectable(), rel=0.1)


@pytest.mark.parametrize("n", [9, 2500])
def test_exchanging_weighted_runs_turns_the_difference_round(n: int) -> None:
    random = np.random.default_rng(6)
    (one, other), weights = random.random((2, n)), random.integers(1, 4, (2, n)) * 1.0
    forth = compare_weighted(one, other, weights[0], weights[1], seed=1)
    back = compare_weighted(other, one, weights[1], weights[0], seed=1)
    assert forth is not None and back is not None
    assert (back.difference, back.p) == (pytest.approx(-forth.difference), pytest.approx(forth.p))
    assert (back.low, back.high) == (pytest.approx(-forth.high, abs=1e-9), pytest.approx(-forth.low, abs=1e-9))
    assert 0 < forth.p < 1


def test_many_weighted_cases_need_no_resampling() -> None:
    random = np.random.default_rng(9)
    n = 6000
    values = (random.random((2, n)) < [[0.45], [0.48]]) * 1.0
    weights = np.where(values == 1, 2.0, 1.0) * (random.random((2, n)) < 0.8)
    found = compare_weighted(values[0], values[1], weights[0], weights[1], seed=1)
    assert found is not None
    parts = np.column_stack([values[0] * weights[0], weights[0], values[1] * weights[1], weights[1]])
    sums = statistics.resampled_sums(parts, seed=1)
    resampled = sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]
    total = parts.sum(axis=0)
    without = total - parts
    jackknife = without[:, 2] / without[:, 3] - without[:, 0] / without[:, 1]
    low, high = statistics.bca_interval(resampled, found.difference, jackknife)
    error = float(resampled.std())
    assert (found.low, found.high) == (pytest.approx(low, abs=0.25 * error), pytest.approx(high, abs=0.25 * error))
    assert found.detectable() == pytest.approx(2.8016 * error, rel=0.06)
    flips = np.random.default_rng(2).integers(0, 2, (2000, n)).astype(bool)
    swapped = np.array([_swapped(parts, flip) for flip in flips])
    expected = (np.abs(swapped) >= abs(found.difference)).mean()
    assert found.p == pytest.approx(expected, abs=5 * math.sqrt(max(expected, 0.001) / 2000))


def _swapped(parts: np.ndarray, flip: np.ndarray) -> float:
    sums = np.where(flip[:, None], parts[:, [2, 3, 0, 1]], parts).sum(axis=0)
    return float(sums[2] / sums[3] - sums[0] / sums[1])


def test_weights_that_differ_of_values_that_are_all_zero() -> None:
    """F1 of no unanswerable question: one more false alarm in the candidate changes weights, and nothing else."""
    zero, weights = np.zeros(40), np.r_[np.ones(20), np.zeros(20)]
    found = compare_weighted(zero, zero, weights, np.r_[np.ones(21), np.zeros(19)], seed=1, ends=(0.0, 1.0))
    assert found is not None and (found.difference, found.p) == (0.0, 1.0)
    assert found.power.finds(0.05) < 0.8 and found.detectable() is not None
    unknown = compare_weighted(zero, zero, weights, np.r_[np.ones(21), np.zeros(19)], seed=1)
    assert unknown is not None and unknown.detectable() is None and unknown.power.finds(0.05) == 0.0
