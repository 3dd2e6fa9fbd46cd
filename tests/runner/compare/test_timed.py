"""Latencies of a busy machine: they drift, jump and hang together."""

import numpy as np
import pytest

from benchmarks.identical_runs import busy, fires
from runner.compare.timed import (
    BLOCKS,
    FEWEST,
    MUCH,
    SlowdownTest,
    drift,
    interval,
    is_faster,
    of_blocks,
    slowdown,
)


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


def gates_fired(tries: int, base: float, times: float) -> int:
    """`base`: how often 10 ms a case takes on the idle machine."""
    random, load, fired = np.random.default_rng(17), 0.0, 0
    for trial in range(tries):
        one, load = busy(random, 60, load)
        other, load = busy(random, 60, load)
        fired += fires(base * one, base * times * other, trial)
    return fired


@pytest.mark.parametrize("base", [1.0, 30.0, 100.0])
def test_the_rule_of_a_gate_fires_for_at_most_5_of_200_identical_runs_on_a_busy_machine(base: float) -> None:
    assert gates_fired(200, base, 1.0) <= 5


def test_the_rule_of_a_gate_finds_far_slower_runs_on_a_busy_machine() -> None:
    assert gates_fired(40, 10.0, 30.0) >= 36


def steady(n: int, slow_ms: float, seed: int) -> np.ndarray:
    """A service of 101 ms, one case in ten of which takes longer."""
    random = np.random.default_rng(seed)
    return np.where(random.random(n) < 0.1, slow_ms * random.lognormal(0, 0.3, n), 101.0 * random.lognormal(0, 0.05, n))


def test_a_steady_service_whose_slow_cases_take_three_times_as_long_is_slower() -> None:
    one, other = steady(200, 300.0, 1), steady(200, 900.0, 2)
    low, high = interval(one, other, 95, seed=1)
    assert 0 < low < 500 < high  # the interval of the case that the factor of ten let pass
    assert slowdown(one, other, 95, seed=1).p < 0.05
    assert slowdown(other, one, 95, seed=1).doubt == "chance"


def test_the_doubt_about_a_loss_is_the_true_one() -> None:
    n, random = 100, np.random.default_rng(4)
    noise = random.lognormal(0, 0.1, n)
    rising = 100.0 * np.exp(np.linspace(0, 1.5, n)) * noise  # a machine that gets busier during the run
    assert slowdown(np.full(FEWEST - 1, 1.0), np.full(n, 99.0), 95, seed=1) == SlowdownTest(1.0, "few")
    assert slowdown(100.0 * noise, 102.0 * noise[::-1], 95, seed=1).doubt == "chance"
    assert slowdown(100.0 * noise, rising, 95, seed=1).doubt == "unsteady"
    assert slowdown(100.0 * noise, 300.0 * noise, 95, seed=1) == SlowdownTest(pytest.approx(2 / 1001))


def test_drift_is_that_of_the_parts_without_the_noise_of_the_cases() -> None:
    level = np.repeat([1.0, 2.0, 4.0, 2.0, 1.0], 20)
    assert drift(level) == pytest.approx(np.std(np.log([1, 2, 4, 2, 1]), ddof=1))
    assert drift(np.full(40, 7.0)) == pytest.approx(0.0, abs=1e-12)
    assert drift(np.tile([1.0, 100.0], 50)) == 0.0


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
