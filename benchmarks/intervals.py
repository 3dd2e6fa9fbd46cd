"""Coverage of 95 % intervals by simulation: how many of a hundred hold the true mean, and how wide they are.

    python benchmarks/intervals.py [--repetitions 2000] [--n 10 20 100 500]

bca      the bootstrap alone, what values without a known range get where some are below 0: nothing for equal values
wilson   of proportions
bounded  what values of a known range get (runner.metrics.bounded)
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from runner.metrics.bounded import bounded_intervals
from runner.metrics.memory import wilson
from runner.metrics.paired import compare_weighted
from runner.metrics.statistics import Floats, bca_intervals

Sample = Callable[[np.random.Generator, tuple[int, int]], tuple[Floats, Floats | None]]

SHARE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
FLOOR = 0.93


@dataclass(frozen=True)
class Scenario:
    name: str
    truth: float
    draw: Sample  # float64 [n_cases, n_repetitions]: values, and weights or None
    range: tuple[float, float] = SHARE
    is_proportion: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--n", type=int, nargs="+", default=[10, 20, 100, 500])
    options = parser.parse_args()
    print(f"coverage / mean width, {options.repetitions} repetitions")
    print(f"{'':28}{'n':>5}{'bca':>15}{'wilson':>15}{'bounded':>15}")
    lowest = {}
    for scenario in scenarios():
        for n in options.n:
            measured = coverage(scenario, n, options.repetitions)
            lowest[scenario.name, n] = measured["bounded"][0]
            print(
                f"{scenario.name:28}{n:5}" + "".join(cell(measured.get(each)) for each in ("bca", "wilson", "bounded"))
            )
    for n in options.n:
        of_ratios = ratios(n, max(1, options.repetitions // 4))
        lowest["F1, difference", n] = of_ratios[0]
        print(f"{'F1, difference':28}{n:5}{'':30}{cell(of_ratios)}")
    (name, n), least = min(lowest.items(), key=lambda entry: entry[1])
    below = sum(share < FLOOR for share in lowest.values())
    print(f"lowest coverage of bounded: {least:.3f} ({name}, n = {n}); below {FLOOR}: {below} of {len(lowest)}")


def cell(measured: tuple[float, float] | None) -> str:
    return " " * 15 if measured is None else f"{measured[0]:8.3f} {measured[1]:6.4f}"


def coverage(scenario: Scenario, n: int, repetitions: int) -> Mapping[str, tuple[float, float]]:
    """(share that holds the true mean, mean width) by method."""
    values, weights = scenario.draw(np.random.default_rng(n), (n, repetitions))
    ranges = np.repeat(np.array([scenario.range]), repetitions, axis=0)
    bca = np.repeat(values[0][:, None], 2, axis=1)
    varied = (values != values[0]).any(axis=0)
    bca[varied] = bca_intervals(values[:, varied], None if weights is None else weights[:, varied], seed=1)
    intervals = {
        "bca": bca,
        "bounded": bounded_intervals(values, ranges, weights),
    }
    if scenario.is_proportion:
        by_count = np.array([wilson(ones, n) for ones in range(n + 1)], dtype=np.float64)
        intervals["wilson"] = by_count[values.sum(axis=0).astype(int)]
    return {name: held(limits, scenario.truth) for name, limits in intervals.items()}


def held(limits: Floats, truth: float) -> tuple[float, float]:
    low, high = limits.T
    holds = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    return float(holds.mean()), float((high - low).mean())


def ratios(n: int, repetitions: int) -> tuple[float, float]:
    """Of differences of two F1, whose cases weigh differently in each run: 30 % of the cases are of the class."""
    random, limits = np.random.default_rng(n), []
    rates = ((0.9, 0.1), (0.8, 0.05))  # called so: of the class, and of the others
    for _ in range(repetitions):
        actual = random.random(n) < 0.3
        sides = [f1_parts(actual, np.where(actual, *rate) > random.random(n)) for rate in rates]
        found = compare_weighted(sides[0][0], sides[1][0], sides[0][1], sides[1][1], seed=1, ends=SHARE)
        limits.append((0.0, 1.0) if found is None else (found.low, found.high))  # nothing to tell: nothing told
    one, other = (2 * 0.3 * hit / (0.3 + 0.3 * hit + 0.7 * false) for hit, false in rates)
    return held(np.array(limits, dtype=np.float64), other - one)


def f1_parts(actual: np.ndarray, called: np.ndarray) -> tuple[Floats, Floats]:
    """F1 as a mean of 1 (called so, rightly) and 0 with the weights 2 and 1."""
    return (actual & called).astype(np.float64), actual.astype(np.float64) + called


# --- scenarios ----------------------------------------------------------------------------------------


def scenarios() -> list[Scenario]:
    return [
        *(proportion(share) for share in (0.02, 0.5, 0.95, 0.98, 0.99)),
        Scenario("Beta(8, .4)", 8 / 8.4, lambda random, shape: (random.beta(8, 0.4, shape), None)),
        Scenario("Beta(.4, 8)", 0.4 / 8.4, lambda random, shape: (random.beta(0.4, 8, shape), None)),
        chosen("1, rarely 0 or uniform", np.r_[1.0, 0.0], (0.98, 0.02), uniform=0.05),
        chosen("recall of 2: 0, .5, 1", np.array([0.0, 0.5, 1.0]), (0.03, 0.1, 0.87)),
        chosen("recall of 3: near 1", np.arange(4) / 3, (0.005, 0.005, 0.02, 0.97)),
        chosen("recall@5 of .998", np.array([0.0, 0.5, 1.0]), (0.001, 0.002, 0.997)),
        chosen("reciprocal rank, high", np.r_[1 / np.arange(1, 6), 0.0], (0.9, 0.04, 0.02, 0.01, 0.01, 0.02)),
        chosen("reciprocal rank, low", np.r_[1 / np.arange(1, 6), 0.0], (0.02, 0.02, 0.02, 0.02, 0.02, 0.9)),
        chosen("difference: 0, rarely 1", np.array([0.0, 1.0]), (0.98, 0.02), ends=DIFFERENCE),
        chosen("difference: -1, 0, 1", np.array([-1.0, 0.0, 1.0]), (0.02, 0.9, 0.08), ends=DIFFERENCE),
        chosen("difference: always 0", np.array([0.0, 1.0]), (1.0, 0.0), ends=DIFFERENCE),
        Scenario("difference: graded", 0.05, graded, DIFFERENCE),
        Scenario("weighted 1 or 2: F1 of .98", f1_truth(0.98), f1(0.98)),
        Scenario("weighted 1 or 2: F1 of .6", f1_truth(0.6), f1(0.6)),
        Scenario("weighted, Beta(8, .4)", 8 / 8.4, weighted_skewed),
        Scenario("weighted, proportion .98", 0.98, weighted_proportion),
    ]


def proportion(share: float) -> Scenario:
    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, None]:
        return (random.random(shape) < share).astype(np.float64), None

    return Scenario(f"proportion {share}", share, draw, is_proportion=True)


def chosen(
    name: str, values: Floats, chances: Sequence[float], *, ends: tuple[float, float] = SHARE, uniform: float = 0.0
) -> Scenario:
    """Each value with its chance; `uniform`: with this chance anything in 0..1 instead."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, None]:
        drawn = random.choice(values, shape, p=chances)
        return np.where(random.random(shape) < uniform, random.random(shape), drawn), None

    truth = (1 - uniform) * float(values @ np.asarray(chances)) + uniform * 0.5
    return Scenario(name, truth, draw, ends)


def graded(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, None]:
    """Half of the cases do not change, the others by .1 on average: a mean of .05."""
    return np.where(random.random(shape) < 0.5, 0.0, 2 * random.beta(5.5, 4.5, shape) - 1), None


def weighted_skewed(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    return random.beta(8, 0.4, shape), 0.1 + random.exponential(size=shape)


def weighted_proportion(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    return (random.random(shape) < 0.98).astype(np.float64), random.integers(1, 6, shape).astype(np.float64)


def f1(hits: float) -> Sample:
    """Cases that count towards F1: hits weigh 2, misses 1."""

    def draw(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Floats, Floats]:
        values = (random.random(shape) < hits).astype(np.float64)
        return values, 1.0 + values

    return draw


def f1_truth(hits: float) -> float:
    return 2 * hits / (1 + hits)


if __name__ == "__main__":
    main()
