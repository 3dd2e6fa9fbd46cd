"""Means of cases that depend on each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.metrics.clusters import (
    AUTO,
    NONE,
    Clusters,
    cluster_key,
    effective_shares,
    field_of_keys,
    key_number,
    t_quantile,
)
from runner.metrics.paired import compare_means
from runner.metrics.statistics import mean_intervals


@pytest.mark.parametrize(
    ("shared", "choice", "key"),
    [
        ({"group": "g", "document": "d"}, AUTO, "group:g"),
        ({"conversation": "c", "document": "d"}, AUTO, "conversation:c"),
        ({"document": "d"}, AUTO, "document:d"),
        ({}, AUTO, None),
        ({"group": "g", "document": "d"}, NONE, None),
        ({"group": "g", "document": "d"}, "document", "document:d"),
        ({"document": "d"}, "team", "team:search"),
        ({"document": "d"}, "owner", None),
    ],
)
def test_what_a_case_shares_with_others(shared: dict[str, str], choice: str, key: str | None) -> None:
    assert cluster_key(shared, ("easy", "team:search"), choice) == key


def test_the_field_is_named_where_all_go_by_it() -> None:
    assert field_of_keys(["document:a", None, "document:b"]) == "document"
    assert field_of_keys(["document:a", "group:b"]) is None and field_of_keys([None]) is None


def test_cases_without_a_key_are_by_themselves() -> None:
    keys = ["a", None, "b", "a", None]
    found = Clusters.of(keys)
    assert found is not None
    assert (found.codes.tolist(), found.n, found.sizes.tolist()) == ([0, 1, 2, 0, 3], 4, [2, 1, 1, 1])
    assert found.totals(np.arange(5.0)[:, None]).ravel().tolist() == [3, 1, 2, 4]
    assert found.of_cases(np.array([0, 1, 2])) is None and Clusters.of(["a", "b", None]) is None
    hashed = Clusters.of_numbers(np.array([key_number(key) for key in keys], dtype=np.uint64))
    assert hashed is not None and hashed.n == 4
    assert hashed.codes[0] == hashed.codes[3] and len(set(hashed.codes.tolist())) == 4


@pytest.mark.parametrize("share", [0.8, 0.975, 0.995])
@pytest.mark.parametrize("df", [1, 1.5, 2, 2.5, 3, 4.2, 9.5, 20, 300])
def test_quantiles_of_t(df: float, share: float) -> None:
    assert t_quantile(share, df) == pytest.approx(scipy.stats.t.ppf(share, df), rel=0.02 if df < 2 else 2e-4)


def test_copies_of_a_case_count_as_one() -> None:
    """Twenty clusters of ten equal values: as certain as twenty cases, but for the degrees of freedom."""
    values = np.repeat(np.random.default_rng(1).random(20), 10)[:, None]
    clusters = Clusters.of([str(case // 10) for case in range(200)])
    assert clusters is not None
    t = scipy.stats.t(19).ppf(0.975) / scipy.stats.t(199).ppf(0.975)
    assert effective_shares(values, clusters)[0] * 200 == pytest.approx(19 / t**2, rel=0.01)  # G - 1: V is unbiased
    ranges = np.array([(0.0, 1.0)])
    low, high = mean_intervals(values, ranges=ranges, seed=1, clusters=clusters)[0]
    alone_low, alone_high = mean_intervals(values[::10], ranges=ranges, seed=1)[0]
    assert (low, high) == (pytest.approx(alone_low, abs=0.02), pytest.approx(alone_high, abs=0.02))


def test_one_cluster_tells_nothing() -> None:
    values = np.full((50, 1), 1.0)
    values[:10] = 0.0
    every = Clusters(np.zeros(50, dtype=np.intp), 1)
    low, high = mean_intervals(values, ranges=np.array([(0.0, 1.0)]), seed=1, clusters=every)[0]
    assert high - low > 0.9
    assert np.isnan(mean_intervals(values, seed=1, clusters=every)).all()
    (found,) = compare_means(values, 1 - values, seed=1, ranges=np.array([(0.0, 1.0)]), clusters=every)
    assert (found.p, found.is_enough, found.detectable()) == (1.0, False, None)


def test_clusters_without_a_range_are_drawn_whole() -> None:
    values = np.repeat(np.random.default_rng(2).exponential(100.0, 40), 8)[:, None]
    clusters = Clusters.of([str(case // 8) for case in range(320)])
    whole, apart = (np.ptp(mean_intervals(values, seed=1, clusters=each)) for each in (clusters, None))
    assert whole == pytest.approx(np.sqrt(8) * apart, rel=0.2)


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=40))
@settings(max_examples=60, deadline=None)
def test_a_case_counts_at_most_once_and_all_together_at_least_as_one(cases: list[tuple[int, float]]) -> None:
    clusters = Clusters.of([str(cluster) for cluster, _ in cases])
    if clusters is not None:
        (share,) = effective_shares(np.array([[value] for _, value in cases]), clusters)
        assert 1 / len(cases) <= share + 1e-12 and share <= 1
