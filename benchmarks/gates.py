"""How often the regression rules raise a false alarm, and how often they find a loss that is there.

    python benchmarks/gates.py [--pairs 1000] [--cases 500] [--loss 0.03] [--noise 0.3]

Pairs of runs are simulated over the same questions: each has a rank of its gold document, which a share `--noise` of
the questions draws anew in the second run, and a latency. In null pairs nothing else differs, so every alarm is
false. In planted ones the candidate also drops a share `--loss` of the questions out of its ranking.

Printed for conf/regression/default.yaml and strict.yaml: the share of pairs in which any rule fires, with its 95 %
interval (Wilson), for null and planted pairs, and for each rule alone.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from dataclasses import replace

import numpy as np

from runner.commands.compare import rules_of
from runner.compare.differences import PairedRuns
from runner.compare.expense import latencies
from runner.compare.gate import gate_of
from runner.compare.snapshots import Cases, Snapshot

GATES = ("default", "strict")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--loss", type=float, default=0.03)
    parser.add_argument("--noise", type=float, default=0.3)
    options = parser.parse_args()
    started = time.perf_counter()
    print(f"{options.pairs} pairs of runs over {options.cases} questions, {options.noise:.0%} of them drawn anew")
    for title, loss in (("null", 0.0), (f"loss of {options.loss:.0%}", options.loss)):
        alarms = simulate(options, loss)
        print(f"\n{title:<28}{'any rule':>24}   each rule")
        for gate in GATES:
            found = alarms[gate]
            rules = "  ".join(f"{name} {found[name] / options.pairs:.1%}" for name in sorted(found) if name != "any")
            print(f"{gate:<28}{share(found['any'], options.pairs):>24}   {rules}")
    print(f"\n{time.perf_counter() - started:.0f} s")


def simulate(options: argparse.Namespace, loss: float) -> dict[str, Counter[str]]:
    gates = {name: rules_of(name) for name in GATES}
    alarms: dict[str, Counter[str]] = {name: Counter() for name in GATES}
    for number in range(options.pairs):
        random = np.random.default_rng([number, int(loss * 10_000)])
        one, other = pair_of_runs(random, options.cases, options.noise, loss)
        runs = PairedRuns.of(one, other, seed=number)
        runs.differences(one.cases.values)  # all at once, so that the rules find them done
        times = latencies(one, other, seed=number)
        for name, regression in gates.items():
            found = gate_of(regression, runs, times, allow_incomparable=False)
            alarms[name]["any"] += found.fired
            alarms[name].update(result.rule.metric for result in found.rules if result.status == "fired")
    return alarms


def pair_of_runs(random: np.random.Generator, n: int, noise: float, loss: float) -> tuple[Snapshot, Snapshot]:
    """Ranks are geometric, each question with a difficulty of its own; latencies are log-normal, p95 about 2 s."""
    difficulty = random.beta(2.0, 1.0, n)
    ranks = [random.geometric(np.maximum(difficulty, 0.02)) for _ in range(2)]
    same = random.random(n) >= noise
    ranks[1] = np.where(same, ranks[0], ranks[1])
    ranks[1] = np.where(random.random(n) < loss, 1_000, ranks[1])
    times = [random.lognormal(math.log(800), 0.55, n) for _ in range(2)]
    return run_of(ranks[0], times[0]), run_of(ranks[1], times[1])


def run_of(ranks: np.ndarray, times: np.ndarray) -> Snapshot:
    n = len(ranks)
    values = {
        "hit_rate_at_3": (ranks <= 3) * 1.0,
        "mrr_at_10": np.where(ranks <= 10, 1 / ranks, 0.0),
        "precision_at_5": (ranks <= 5) / 5,
    }
    nothing: list[str | None] = [None] * n
    cases = Cases(
        ids=[f"{number:06d}" for number in range(n)], content=nothing, gold=nothing, failed=np.zeros(n, dtype=bool),
        language=nothing, difficulty=nothing, tags=[[] for _ in range(n)], latency_ms=times, values=values,
        unscored={}, weights={}, noise={}, labels={},
    )  # fmt: skip
    p50, p95 = np.percentile(times, (50, 95))
    timing = {"latency": {"case": {"p50_ms": float(p50), "p95_ms": float(p95), "n": n}}}
    metrics = {name: {"value": float(column.mean()), "n": n} for name, column in values.items()}
    empty = Snapshot({"k": 5}, {}, {}, {}, {}, {}, {}, {}, cases)
    return replace(empty, metrics=metrics, timing=timing)


def share(k: int, n: int) -> str:
    """With its Wilson interval."""
    p, z = k / n, 1.96
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return f"{p:.1%} [{middle - half:.1%}, {middle + half:.1%}]"


if __name__ == "__main__":
    main()
