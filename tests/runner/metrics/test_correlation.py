"""Correlations: by hand, against scipy, and where they are not defined."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.agreement import (
    nan_to_none,
    pearson,
    pearsons,
    ranks,
    ranks_within,
    spearman,
    spearmans,
    within_groups,
)

X, Y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])


def test_by_hand():
    """Deviations -1.5 -.5 .5 1.5 and -1.5 .5 -.5 1.5: products add up to 4, squares to 5 each."""
    assert pearson(X, Y) == pytest.approx(0.8)
    assert spearman(X**5, np.exp(Y)) == pytest.approx(0.8)
    assert pearson(X, -X) == pytest.approx(-1.0)


def test_ties_share_the_mean_of_their_ranks():
    assert ranks(np.array([5.0, 1.0, 5.0, 0.0, 5.0]), np.ones(5)).tolist() == [4.0, 2.0, 4.0, 1.0, 4.0]
    samples = np.array([[3.0, 2.0], [1.0, 1.0], [0.0, 1.0]])  # 1 1 5 5 5, 1 5, 1
    assert ranks(np.array([5.0, 1.0]), samples).tolist() == [[4.0, 1.5], [2.0, 1.0], [1.5, 1.0]]
    within = ranks_within(np.array([9.0, 1.0, 3.0, 3.0, 2.0]), np.array([0, 1, 0, 1, 2]), np.ones(5))
    assert within.tolist() == [2.0, 1.0, 1.0, 2.0, 1.0]


@pytest.mark.parametrize("seed", range(20))
def test_against_scipy(seed):
    random = np.random.default_rng(seed)
    x = random.random(25).round(1)
    y = (x + random.normal(0, 0.5, 25)).round(int(random.integers(0, 3)))
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([0.3], [0.4]),
        ([0.1] * 3, [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 3.0], [0.1] * 3),
        ([0.0, 0.0], [1.0, 2.0]),
        ([1.0, 2.0], [0.0, 0.0]),
    ],
)
def test_what_does_not_vary_has_no_correlation(x, y):
    x, y = np.array(x), np.array(y)
    assert pearson(x, y) is None
    assert spearman(x, y) is None


def test_within_groups_by_hand():
    """Each group falls (1 2 against 2 1), but the second group is higher in both: overall it looks like a rise."""
    x, y = np.array([1.0, 2.0, 11.0, 12.0]), np.array([2.0, 1.0, 12.0, 11.0])
    once = np.ones(4)
    assert pearson(x, y) > 0.95
    assert within_groups(x, y, np.array([0, 0, 1, 1]), once) == pytest.approx(-1.0)
    assert np.isnan(within_groups(x, y, np.array([0, 1, 2, 3]), once))
    tenths = np.array([0.1, 0.1, 0.1, 0.7, 0.7, 0.7])  # means of equal tenths are not equal to them
    assert np.isnan(within_groups(tenths, np.arange(6.0), np.array([0, 0, 0, 1, 1, 1]), np.ones(6)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12))
def test_a_weight_is_a_number_of_equal_cases(cases):
    x, y, counts = (np.array(column, dtype=float) for column in zip(*cases, strict=True))
    times = counts.astype(int)
    several = np.repeat(x, times), np.repeat(y, times)
    samples = np.array([counts, np.ones(len(x))])
    for one, many in ((pearson, pearsons), (spearman, spearmans)):
        found = many(x, y, samples)
        assert [nan_to_none(found[0]), nan_to_none(found[1])] == pytest.approx([one(*several), one(x, y)])
    groups = (x > 2).astype(int)
    expected = within_groups(*several, np.repeat(groups, times), np.ones(times.sum()))
    assert within_groups(x, y, groups, samples)[0] == pytest.approx(expected, nan_ok=True)
