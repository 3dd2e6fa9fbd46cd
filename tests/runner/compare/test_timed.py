"""Latencies of a busy machine: they drift, jump and hang together."""

import numpy as np
import pytest

from benchmarks.identical_runs import busy
from runner.compare.timed import BLOCKS, FEWEST, MUCH, chance_not_slower, interval, is_faster, of_blocks
from runner.compare.verdicts import ALPHA


def test_identical_runs_on_a_busy_machine_are_never_told_apart() -> None:
    random, load, wrong = np.random.default_rng(17), 0.0, 0
    for trial in range(200):
        one, load = busy(random, 60, load)
        other, load = busy(random, 60, load)
        wrong += is_faster(one, other, seed=trial) or is_faster(other, one, seed=trial)
    assert wrong == 0


def test_a_run_that_is_far_slower_is_told_on_the_same_machine() -> None:
    random, load, right = np.random.default_rng(18), 0.0, 0
    for trial in range(20):
        one, load = busy(random, 60, load)
        other, load = busy(random, 60, load)
        assert not is_faster(200 * other, one, seed=trial)
        right += is_faster(one, 200 * other, seed=trial)
    assert right == 20


@pytest.mark.parametrize(
    ("n", "times", "is_told"), [(FEWEST, 20.0, True), (FEWEST - 1, 20.0, False), (FEWEST, 9.0, False)]
)
def test_few_cases_and_less_than_much_tell_nothing(n: int, times: float, is_told: bool) -> None:
    assert MUCH == 10.0
    assert is_faster(np.full(n, 1.0), np.full(n, times), seed=1) is is_told


def test_one_slow_stretch_is_no_slow_run() -> None:
    """p95 of the second run is more than ten times that of the first, by one stretch of consecutive cases."""
    stretch = np.concatenate([np.full(54, 1.0), np.full(6, 50.0)])
    scattered = np.where(np.arange(60) % 6 == 0, 50.0, 1.0)
    assert not is_faster(np.full(60, 1.0), stretch, seed=1)
    assert is_faster(np.full(60, 1.0), scattered, seed=1)


@pytest.mark.parametrize("rank", [50, 95])
def test_rules_of_a_gate_never_tell_identical_runs_apart(rank: float) -> None:
    random, load = np.random.default_rng(17), 0.0
    told, found = 0, 0
    for trial in range(200):
        one, load = busy(random, 60, load)
        other, load = busy(random, 60, load)
        told += min(chance_not_slower(*pair, rank, seed=trial) for pair in ((one, other), (other, one))) < ALPHA
        found += chance_not_slower(one, 200 * other, rank, seed=trial) < ALPHA
    assert (told, found) == (0, 200)


def test_an_interval_of_blocks_of_one_case_is_that_of_the_bootstrap() -> None:
    random = np.random.default_rng(3)
    one, other = random.lognormal(3, 0.5, 10), random.lognormal(3.1, 0.5, 10)
    drawn = [np.percentile(random.choice(values, (8000, 10)), 50, axis=1) for values in (one, other)]
    expected = np.percentile(drawn[1] - drawn[0], (2.5, 97.5))
    assert interval(one, other, 50, seed=1) == pytest.approx(tuple(expected), abs=2.0)
    assert interval(np.array([5.0]), np.array([5.0]), 95, seed=1) == (0.0, 0.0)


@pytest.mark.parametrize("n", [1, 2, 11, 60, 300])
@pytest.mark.parametrize("rank", [0, 50, 95, 100])
def test_percentiles_are_those_of_the_drawn_times(n: int, rank: float) -> None:
    times = np.random.default_rng(n).lognormal(3, 0.5, n).round(1)  # with ties
    found = of_blocks(times, rank, np.random.default_rng(7))
    starts = np.random.default_rng(7).integers(0, n, (len(found), BLOCKS))
    drawn = times[(starts[:, :, None] + np.arange(-(-n // BLOCKS))) % n].reshape(len(found), -1)
    assert found.tolist() == np.percentile(drawn, rank, axis=1).tolist()
