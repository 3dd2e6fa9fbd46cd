"""The corrected mean: by hand, against scipy, and by simulation of its coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from runner.metrics.bounded import bounded_intervals
from runner.metrics.corrected_mean import corrected_mean, labels_alone, labels_to_halve, random_part_p

HUMAN, JUDGED = np.array([1.0, 0.5, 0.0, 0.5]), np.array([1.0, 1.0, 0.5, 0.5])
OTHERS = np.array([1.0, 0.75, 0.5, 0.25, 1.0])


def yes_no(n_yes: int, n_no: int) -> np.ndarray:
    return np.repeat([1.0, 0.0], [n_yes, n_no])


def test_yes_and_no_by_hand():
    """The judge says yes to 6 of 10 labelled cases, of which 5 are good, and no to 4, of which 1 is; and to 94 of 190
    others: half of all. So .5 * 5/6 + .5 * 1/4."""
    human, judge = np.array([1.0] * 5 + [0.0] + [1.0] + [0.0] * 3), yes_no(6, 4)
    found = corrected_mean(human, judge, yes_no(94, 96))
    assert found.value == pytest.approx(0.5 * 5 / 6 + 0.5 / 4)
    assert found.weight == pytest.approx(5 / 6 - 1 / 4)


def test_limits_of_yes_and_no_are_quantiles_of_the_two_strata():
    """Against beta distributions of scipy, of which each limit has half a worst case more."""
    human, judge = np.array([1.0] * 25 + [0.0] * 5 + [1.0] * 3 + [0.0] * 7), yes_no(30, 10)
    found = corrected_mean(human, judge, yes_no(670, 290))
    beta, random = scipy.stats.beta.rvs, np.random.default_rng(5)
    says_yes = beta(700.5, 300.5, size=200_000, random_state=random)
    ends = []
    for bad, good in ((0.5, 0.0), (0.0, 0.5)):
        among_yes = beta(25 + good, 5 + bad, size=200_000, random_state=random)
        among_no = beta(3 + good, 7 + bad, size=200_000, random_state=random)
        ends.append(says_yes * among_yes + (1 - says_yes) * among_no)
    expected = np.quantile(ends[0], 0.025), np.quantile(ends[1], 0.975)
    assert (found.low, found.high) == pytest.approx(expected, abs=0.004)


def test_labels_that_are_all_good_leave_room_for_others():
    """From both strata nearly as much as the labels alone, whose limit is .025 ** (1 / 25); where the judge calls half
    of the run bad and nobody labelled any of that, that half is unknown."""
    others, all_good = yes_no(500, 500), np.ones(25)
    both = corrected_mean(all_good, yes_no(12, 13), others)
    assert (both.value, both.high) == (1.0, 1.0)
    assert both.low == pytest.approx(0.864, abs=0.003)
    one = corrected_mean(all_good, all_good, others)
    assert (one.value, one.high, one.weight) == (1.0, 1.0, 0.0)
    assert one.low == pytest.approx(0.457, abs=0.003)
    assert labels_alone(all_good).low == pytest.approx(0.025 ** (1 / 25))


def test_scores_in_between_by_hand():
    """Covariance 1/16 and variance of the judge 1/16, so that its weight is 1. Mean of all of its scores 6.5 / 9; the
    residuals are bounded by it and by 1 more."""
    found = corrected_mean(HUMAN, JUDGED, OTHERS)
    of_all = 6.5 / 9
    residuals = HUMAN - JUDGED + of_all
    assert found.weight == 1.0
    assert found.value == pytest.approx(residuals.mean())
    low, high = bounded_intervals(residuals[:, None], np.array([(of_all - 1, of_all + 1)]))[0]
    judged = 1.959964**2 * np.concatenate([JUDGED, OTHERS]).var() / 9
    assert found.low == pytest.approx(max(found.value - math.hypot(found.value - low, math.sqrt(judged)), 0))
    assert found.high == pytest.approx(min(found.value + math.hypot(high - found.value, math.sqrt(judged)), 1))


def test_a_judge_that_does_not_vary_counts_nothing():
    found = corrected_mean(HUMAN, np.full(4, 0.9), np.full(5, 0.9))
    assert (found.value, found.weight) == (0.5, 0.0)
    alone = labels_alone(HUMAN)
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


@pytest.mark.parametrize("kind", ["yes or no", "between"])
def test_cases_of_one_group_count_as_one(kind):
    """Every case four times, in its group, shows no more than once; as if they were independent, it would."""
    random = np.random.default_rng(3)
    human, judge, others = yes_no(24, 6), (random.random(30) < 0.7) * 1.0, yes_no(70, 30)
    if kind == "between":
        judge = judge * 0.9
    once = corrected_mean(human, judge, others)
    four = np.tile(human, 4), np.tile(judge, 4)
    grouped = corrected_mean(*four, others, np.tile(np.arange(30), 4))
    careless = corrected_mean(*four, others)
    width = once.high - once.low
    assert grouped.high - grouped.low == pytest.approx(width, rel=0.12)
    assert careless.high - careless.low < 0.75 * width
    assert labels_alone(four[0], np.tile(np.arange(30), 4)).low < labels_alone(four[0]).low


def test_too_little_to_tell():
    assert corrected_mean(HUMAN[:1], JUDGED[:1], OTHERS) is None
    assert corrected_mean(HUMAN, JUDGED, OTHERS, np.zeros(4, dtype=int)) is None
    assert corrected_mean(HUMAN, JUDGED, OTHERS[:1]) is None
    assert corrected_mean(np.array([]), np.array([]), OTHERS) is None
    assert labels_alone(HUMAN[:1]) is None
    assert labels_to_halve(HUMAN[:1], JUDGED[:1], OTHERS) is None
    assert corrected_mean(HUMAN[:2], JUDGED[:2], OTHERS[:2]) is not None


@pytest.mark.parametrize("kind", ["yes or no", "between"])
def test_as_many_more_labels_as_told_halve_the_interval(kind):
    """Of labels like those that are there, which are taken once more and more often."""
    random = np.random.default_rng(5)
    truth = random.random(3000)
    noise = np.clip(truth + random.normal(0, 0.2, 3000), 0, 1)
    if kind == "yes or no":
        truth, noise = (truth > 0.3) * 1.0, (noise > 0.3) * 1.0
    human, judged, others = truth[:60], noise[:60], noise[60:]
    more = labels_to_halve(human, judged, others)
    first = corrected_mean(human, judged, others)
    later = corrected_mean(np.resize(human, 60 + more), np.resize(judged, 60 + more), others)
    assert (later.high - later.low) / (first.high - first.low) == pytest.approx(0.5, abs=0.02)


def test_no_number_of_labels_is_told_where_none_would_do():
    """Labels like those that are there never show the half of the run that the judge calls bad."""
    few = labels_to_halve(np.ones(25), np.ones(25), yes_no(3, 3))
    assert few is None or few > 25  # they show that this half is small instead
    assert labels_to_halve(np.ones(5), np.ones(5), yes_no(50_000_000, 50_000_000)) is None


def test_labels_from_elsewhere_are_noticed():
    others = yes_no(500, 500)
    assert random_part_p(np.ones(25), others) == pytest.approx(2 / 2000)  # chance .5 ** 25
    assert random_part_p(yes_no(12, 13), others) > 0.5
    assert random_part_p(np.ones(8), others) == pytest.approx(2 * 0.5**8, abs=0.006)
    in_groups = random_part_p(np.ones(8), others, np.repeat([0, 1], 4))
    assert in_groups > 0.05  # as unlikely as for two labels


def test_one_in_a_hundred_random_parts_is_called_another():
    random = np.random.default_rng(2)
    scores = random.random((200, 300)) ** 2
    alarms = np.mean([random_part_p(each[:20], each[20:]) < 0.01 for each in scores])
    assert alarms <= 0.03


@pytest.mark.parametrize(("n", "share", "sensitivity", "specificity"), [(20, 0.95, 0.9, 0.7), (30, 0.99, 0.98, 0.95)])
def test_it_covers_shares_near_one(n, share, sensitivity, specificity):
    """150 studies, against a t interval of the same estimate, which covers fewer than 7 of 10."""
    random, covered, by_t = np.random.default_rng(n), 0, 0
    for _ in range(150):
        human = (random.random(n + 500) < share) * 1.0
        judge = (random.random(n + 500) < np.where(human == 1, sensitivity, 1 - specificity)) * 1.0
        found = corrected_mean(human[:n], judge[:n], judge[n:])
        covered += found.low <= share <= found.high
        residuals = human[:n] - found.weight * judge[:n]
        margin = 2.09 * residuals.std(ddof=1) / math.sqrt(n)
        by_t += abs(found.value - share) <= margin
    assert covered >= 0.93 * 150
    assert by_t < 0.75 * 150
