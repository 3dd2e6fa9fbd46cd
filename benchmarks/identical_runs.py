"""How often the p95 latencies of two identical runs are told apart, by each of four rules.

    python benchmarks/identical_runs.py [--tries 200] [--cases 60] [--pairs 20]

resampled    the interval of the difference, each case drawn by itself, leaves out 0
blocks       the same with blocks of consecutive cases
sweep        what the Pareto front of a sweep goes by (runner.compare.timed)
gate         the built-in rule of a gate: p95 is higher by more than 500 ms, and by more than chance and drift

The simulated machine is busy: its load is autocorrelated and drifts from one run into the next, and other work comes
and goes that slows every case down to a half or a quarter of its speed. `slower`: the second run takes 30 times as
long, which the rule is to find. `--pairs`: real pairs of the same run, one after the other on this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.soak import run
from runner.compare.alike import read_rows
from runner.compare.cells import open_cells
from runner.compare.timed import RESAMPLES, interval, is_faster, slowdown
from runner.metrics.statistics import Floats
from runner.metrics.swaps import ALPHA

RULES = ("resampled", "blocks", "sweep", "gate")
MARGIN_MS = 500.0  # of conf/regression
BASE_MS = 10.0
SHOWN = (
    ("identical, 10 ms", 10.0, 1.0),
    ("identical, 100 ms", 100.0, 1.0),
    ("identical, 300 ms", 300.0, 1.0),
    ("identical, 1,000 ms", 1000.0, 1.0),
    ("30 times slower, 100 ms", 100.0, 30.0),
)
WORDS = ("+experiment=full_rag", "retriever=keyword", "judge.health=false", "tracking=none", "format=json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    print(f"told apart of n{'':<18}{''.join(f'{rule:>12}' for rule in RULES)}")
    for title, base_ms, times in SHOWN:
        show(title, simulated(options.tries, options.cases, base_ms, times), options.tries)
    if options.pairs:
        show(f"real, load {os.getloadavg()[0]:.0f}", real(options.pairs, options.cases), options.pairs)
    print(f"\n{time.perf_counter() - started:.0f} s")


def show(title: str, found: Counter[str], n: int) -> None:
    print(f"{title:<32}{''.join(f'{found[rule]:>8}/{n}' for rule in RULES)}", flush=True)


def simulated(tries: int, cases: int, base_ms: float, times: float) -> Counter[str]:
    random, load, found = np.random.default_rng(17), 0.0, Counter[str]()
    for trial in range(tries):
        one, load = busy(random, cases, load)
        other, load = busy(random, cases, load)
        scale = base_ms / BASE_MS
        found.update(told_apart(scale * one, times * scale * other, trial))
    return found


def busy(random: np.random.Generator, cases: int, load: float) -> tuple[Floats, float]:
    """(ms of the cases, the logarithm of the load at their end)"""
    found, other_work = np.empty(cases), 1.0
    for place in range(cases):
        load = 0.98 * load + random.normal(0, 0.08)
        if random.random() < 0.01:
            other_work = random.choice([1.0, 2.0, 4.0])
        found[place] = BASE_MS * np.exp(load) * other_work * random.lognormal(0, 0.2)
    return found, load


def told_apart(one: Floats, other: Floats, seed: int) -> list[str]:
    """The rules that say so."""
    random = np.random.default_rng(seed)
    slow, fast = (np.percentile(random.choice(each, (RESAMPLES, len(each))), 95, axis=1) for each in (other, one))
    low, high = np.percentile(slow - fast, (2.5, 97.5))
    ends = interval(one, other, 95, seed=seed)
    far = is_faster(one, other, seed=seed) or is_faster(other, one, seed=seed)
    verdicts = zip(RULES, (low > 0 or high < 0, ends[0] > 0 or ends[1] < 0, far, fires(one, other, seed)), strict=True)
    return [rule for rule, is_told in verdicts if is_told]


def fires(one: Floats, other: Floats, seed: int) -> bool:
    loss_ms = float(np.percentile(other, 95) - np.percentile(one, 95))
    return loss_ms > MARGIN_MS and slowdown(one, other, 95, seed=seed).p < ALPHA


def real(pairs: int, cases: int) -> Counter[str]:
    """`timeout_ms` is the same for all that happens within a second."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        for pair in range(pairs):
            out = Path(name) / str(pair)
            words = [*WORDS, f"sample={cases}", "timeout_ms=15000,15001", f"out={out}", f"cache_dir={name}/cache"]
            run(words)
            runs = open_cells(out, ("0", "1"))
            one, other = (read_rows(out / cell, snapshot).live_ms for cell, snapshot in runs.items())
            found.update(told_apart(one, other, pair))
    return found


if __name__ == "__main__":
    main()
