"""The corrected mean: by hand, against a plain bootstrap, and by simulation of its coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t

from runner.metrics.ppi import corrected_mean, labels_to_halve

HUMAN, JUDGED = np.array([1.0, 0.5, 0.0, 0.5]), np.array([1.0, 1.0, 0.5, 0.5])
OTHERS = np.array([1.0, 0.75, 0.5, 0.25, 1.0])


def test_by_hand():
    """Labelled: people mean .5, judge .75, covariance of the means (.125 + 0 + .125 + 0) / 3 / 4 = 1/48, variance
    of the judge's mean (4 * .0625) / 3 / 4 = 1/48. Others: mean .7, squared deviations .425, variance of the mean
    .425 / 4 / 5 = .02125."""
    found = corrected_mean(HUMAN, JUDGED, OTHERS)
    weight = (1 / 48) / (1 / 48 + 0.02125)
    assert found.weight == pytest.approx(weight)
    assert found.value == pytest.approx(0.5 + weight * (0.7 - 0.75))
    # deviations of people .5 0 -.5 0, of the judge .25 .25 -.25 -.25
    left = (0.5 - 0.25 * weight) ** 2 * 2 + (0.25 * weight) ** 2 * 2
    margin = t.ppf(0.975, 3) * math.sqrt(left / 3 / 4 + weight**2 * 0.02125)
    assert (found.low, found.high) == pytest.approx((found.value - margin, found.value + margin))


def test_the_estimator_of_2023_and_the_labels_alone():
    first = corrected_mean(HUMAN, JUDGED, OTHERS, weight=1.0)
    assert first.value == pytest.approx(0.7 - (0.75 - 0.5))
    alone = corrected_mean(HUMAN, JUDGED, OTHERS, weight=0.0)
    assert alone.value == 0.5
    assert alone.high - alone.value == pytest.approx(t.ppf(0.975, 3) * HUMAN.std(ddof=1) / 2)


def test_a_judge_that_does_not_vary_counts_nothing():
    found = corrected_mean(HUMAN, np.full(4, 0.9), np.full(5, 0.9))
    assert (found.value, found.weight) == (0.5, 0.0)


def test_cases_of_one_group_count_as_one():
    """Every case twice, in its group, changes nothing; as if they were independent, it would."""
    once = corrected_mean(HUMAN, JUDGED, OTHERS)
    twice = np.tile(HUMAN, 2), np.tile(JUDGED, 2)
    grouped = corrected_mean(*twice, OTHERS, np.tile(np.arange(4), 2))
    assert (grouped.value, grouped.low, grouped.high) == pytest.approx((once.value, once.low, once.high))
    careless = corrected_mean(*twice, OTHERS)
    assert careless.high - careless.low < 0.9 * (once.high - once.low)


def test_too_little_to_tell():
    assert corrected_mean(HUMAN[:1], JUDGED[:1], OTHERS) is None
    assert corrected_mean(HUMAN, JUDGED, OTHERS, np.zeros(4, dtype=int)) is None
    assert corrected_mean(HUMAN, JUDGED, OTHERS[:1]) is None
    assert corrected_mean(np.array([]), np.array([]), OTHERS) is None
    assert corrected_mean(HUMAN[:2], JUDGED[:2], OTHERS[:2]) is not None


def test_how_many_more_labels_halve_the_interval_by_hand():
    """Of m times as many labels, beside a judge that says nothing, it is t(4 m - 1) / sqrt(m) times as wide: 3.182 now,
    1.672 with 4 more, 1.537 with 5 more."""
    assert labels_to_halve(HUMAN, np.full(4, 0.9), OTHERS) == 5

    def margin(times: float) -> float:  # the variances of `test_by_hand`, of which some shrink
        variance = 1 / 24 / times - (1 / 48 / times) ** 2 / (1 / 48 / times + 0.02125)
        return t.ppf(0.975, 4 * times - 1) * math.sqrt(variance)

    assert margin(1 + 6 / 4) < margin(1) / 2 < margin(1 + 5 / 4)
    assert labels_to_halve(HUMAN, JUDGED, OTHERS) == 6


def test_as_many_more_labels_as_told_halve_the_interval():
    drawn = np.random.default_rng(5)
    truth = drawn.random(6000)
    noise = truth + drawn.normal(0, 0.2, 6000)
    human, judged, others = truth[:60], noise[:60], noise[3000:]
    more = labels_to_halve(human, judged, others)
    first = corrected_mean(human, judged, others)
    later = corrected_mean(truth[: 60 + more], noise[: 60 + more], others)
    assert (later.high - later.low) / (first.high - first.low) == pytest.approx(0.5, abs=0.06)
    assert labels_to_halve(human[:1], judged[:1], others) is None
    assert labels_to_halve(np.ones(9), np.ones(9), others) is None


def test_it_covers_the_truth_where_the_judge_alone_does_not_and_is_narrower_than_labels_alone():
    """400 studies: 40 labels from 20 groups, 400 other answers, a judge that is .15 too kind."""
    random, truth = np.random.default_rng(7), 0.5
    covered = {"corrected": 0, "judge alone": 0}
    widths = {"corrected": 0.0, "labels alone": 0.0}
    for _ in range(400):
        human, judged, groups = study(random, 20, 2)
        _, others, _ = study(random, 400, 1)
        found = corrected_mean(human, judged, others, groups)
        alone = corrected_mean(human, judged, others, groups, weight=0.0)
        margin = 1.96 * others.std(ddof=1) / math.sqrt(len(others))
        covered["corrected"] += found.low <= truth <= found.high
        covered["judge alone"] += abs(others.mean() - truth) <= margin
        widths["corrected"] += found.high - found.low
        widths["labels alone"] += alone.high - alone.low
    assert 0.93 <= covered["corrected"] / 400 <= 0.975
    assert covered["judge alone"] == 0
    assert widths["corrected"] < 0.75 * widths["labels alone"]


def study(random: np.random.Generator, n_groups: int, size: int):
    """Answers to one question are alike; the judge sees what people see, with noise of its own."""
    groups = np.repeat(np.arange(n_groups), size)
    human = 0.5 + 0.2 * random.normal(size=n_groups)[groups] + 0.1 * random.normal(size=len(groups))
    return human, human + 0.15 + 0.1 * random.normal(size=len(groups)), groups
