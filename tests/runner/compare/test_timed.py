"""Latencies of a busy machine: they drift, jump and hang together."""

import numpy as np
import pytest

from runner.compare.timed import FEWEST, MUCH, is_faster
from runner.metrics.statistics import Floats


def busy(random: np.random.Generator, n: int, *, log_load: float, ms: float = 10.0) -> tuple[Floats, float]:
    """(ms of the cases, the load at their end): an autocorrelated load that drifts, with other work that comes and goes
    and slows a case down to a quarter of the speed."""
    found, other_work = np.empty(n), 1.0
    for place in range(n):
        log_load = 0.98 * log_load + random.normal(0, 0.08)
        if random.random() < 0.01:
            other_work = random.choice([1.0, 2.0, 4.0])
        found[place] = ms * np.exp(log_load) * other_work * random.lognormal(0, 0.2)
    return found, log_load


def test_identical_runs_on_a_busy_machine_are_never_told_apart() -> None:
    random, load, wrong = np.random.default_rng(17), 0.0, 0
    for trial in range(200):
        one, load = busy(random, 60, log_load=load)
        other, load = busy(random, 60, log_load=load)
        wrong += is_faster(one, other, seed=trial) or is_faster(other, one, seed=trial)
    assert wrong == 0


def test_a_run_that_is_far_slower_is_told_on_the_same_machine() -> None:
    random, load, right = np.random.default_rng(18), 0.0, 0
    for trial in range(20):
        one, load = busy(random, 60, log_load=load)
        other, load = busy(random, 60, log_load=load, ms=2000.0)
        assert not is_faster(other, one, seed=trial)
        right += is_faster(one, other, seed=trial)
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
