"""How often the regression rules raise a false alarm, and how often they find a loss that is there.

    python benchmarks/gates.py [--pairs 1000] [--cases 500] [--loss 0.05] [--noise 0.3]

Pairs of runs are simulated over the same questions, of which 15 % have no answer. Each has a rank of its gold document,
an answer that is right or wrong and more or less faithful, a refusal or none, and a latency. A share `--noise` of the
questions draws all of these anew in the second run. In null pairs nothing else differs, so every alarm is false. In
planted ones the candidate also loses a share `--loss` of the questions: their answers become wrong and unfaithful
(answers), or their gold document drops out of the ranking, and the answer with it (ranking).

Printed for default.yaml, full_rag.yaml and strict.yaml of conf/regression: the share of pairs in which any rule fires,
with its 95 % interval (Wilson), for null and planted pairs, and for each rule alone.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from runner.commands.compare import rules_of
from runner.compare.differences import PairedRuns
from runner.compare.expense import latencies
from runner.compare.gate import gate_of
from runner.compare.snapshots import Cases, Snapshot
from runner.compare.verdicts import Adjusted, adjust, main_metrics
from runner.metrics.catalogue import built_in_catalogue

GATES = ("default", "full_rag", "strict")
KINDS = ("null", "answers", "ranking")
UNANSWERABLE = 0.15  # share of the questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--loss", type=float, default=0.05)
    parser.add_argument("--noise", type=float, default=0.3)
    options = parser.parse_args()
    started = time.perf_counter()
    print(f"{options.pairs} pairs of runs over {options.cases} questions, {options.noise:.0%} of them drawn anew")
    for kind in KINDS:
        alarms = simulate(options, kind)
        title = kind if kind == "null" else f"loss of {options.loss:.0%} ({kind})"
        print(f"\n{title:<28}{'any rule':>24}   each rule")
        for gate in GATES:
            found = alarms[gate]
            rules = "  ".join(f"{name} {found[name] / options.pairs:.1%}" for name in sorted(found) if name != "any")
            print(f"{gate:<28}{share(found['any'], options.pairs):>24}   {rules}")
    print(f"\n{time.perf_counter() - started:.0f} s")


def simulate(options: argparse.Namespace, kind: str) -> dict[str, Counter[str]]:
    gates = {name: rules_of(name) for name in GATES}
    alarms: dict[str, Counter[str]] = {name: Counter() for name in GATES}
    for number in range(options.pairs):
        random = np.random.default_rng([number, KINDS.index(kind)])
        one, other = pair_of_runs(random, options, kind)
        runs = PairedRuns.of(one, other, seed=number)
        differences = runs.differences(one.cases.values)
        numbers = {name: each.numbers for name, each in differences.items() if each.numbers is not None}
        times = latencies(one, other, seed=number)
        main = main_metrics(numbers, one.catalogue)
        adjusted: dict[str, Adjusted] = {}
        for family in (main[:1], main[1:], [name for name in numbers if name not in main]):
            adjusted |= zip(family, adjust([numbers[name] for name in family]), strict=True)
        for name, regression in gates.items():
            found = gate_of(regression, runs, times, adjusted, main=main, allow_incomparable=False)
            alarms[name]["any"] += found.fired
            alarms[name].update(result.rule.metric for result in found.rules if result.status == "fired")
    return alarms


@dataclass(frozen=True)
class Drawn:
    """One run: a value for each question."""

    ranks: np.ndarray
    right: np.ndarray
    faithful: np.ndarray
    declined: np.ndarray
    ms: np.ndarray


def pair_of_runs(random: np.random.Generator, options: argparse.Namespace, kind: str) -> tuple[Snapshot, Snapshot]:
    """Questions differ in difficulty, for retrieval and for answers alike. p95 of latency is about 2 s."""
    n = options.cases
    answerable = np.arange(n) >= round(UNANSWERABLE * n)
    easy = np.maximum(random.beta(2.0, 1.0, n), 0.02)
    one, again = (drawn(random, easy) for _ in range(2))
    same = random.random(n) >= options.noise
    other = Drawn(*(np.where(same, getattr(one, name), getattr(again, name)) for name in Drawn.__annotations__))
    lost = (random.random(n) < options.loss) & (kind != "null")
    ranks = np.where(lost & (kind == "ranking"), 1_000, other.ranks)
    other = replace(other, ranks=ranks, right=other.right & ~lost, faithful=np.where(lost, 0.0, other.faithful))
    other = replace(other, ms=again.ms, declined=np.where(lost & ~answerable, False, other.declined))
    return run_of(one, answerable), run_of(other, answerable)


def drawn(random: np.random.Generator, easy: np.ndarray) -> Drawn:
    n = len(easy)
    right = random.random(n) < 0.9 * easy
    faithful = np.where(right, 1.0, random.choice([0.0, 0.5, 1.0], n))
    declined = random.random(n) < 0.8 - 0.7 * easy
    return Drawn(random.geometric(easy), right, faithful, declined, random.lognormal(math.log(800), 0.55, n))


def run_of(run: Drawn, answerable: np.ndarray) -> Snapshot:
    n, ranks, declined = len(run.ranks), run.ranks, run.declined
    hit = declined & ~answerable
    values = {
        "right": np.where(answerable, run.right & ~declined, declined) * 1.0,
        "recall_at_k": np.where(answerable, (ranks <= 5) * 1.0, np.nan),
        "hit_rate_at_3": np.where(answerable, (ranks <= 3) * 1.0, np.nan),
        "mrr_at_10": np.where(answerable, np.where(ranks <= 10, 1 / ranks, 0.0), np.nan),
        "precision_at_5": np.where(answerable, (ranks <= 5) / 5, np.nan),
        "mean_faithfulness": run.faithful,
        "unanswerable_recall": np.where(answerable, np.nan, hit * 1.0),
        "unanswerable_f1": np.where(declined | ~answerable, hit * 1.0, np.nan),
    }
    nothing: list[str | None] = [None] * n
    cases = Cases(
        ids=[f"{number:06d}" for number in range(n)], content=nothing, gold=nothing, failed=np.zeros(n, dtype=bool),
        language=nothing, difficulty=nothing, tags=[[] for _ in range(n)], latency_ms=run.ms, values=values,
        unscored={}, weights={"unanswerable_f1": np.where(hit, 2.0, 1.0)}, noise={}, labels={},
    )  # fmt: skip
    p50, p95 = np.percentile(run.ms, (50, 95))
    timing = {"latency": {"case": {"p50_ms": float(p50), "p95_ms": float(p95), "n": n}}}
    metrics = {name: {"value": float(np.nanmean(column)), "n": n} for name, column in values.items()}
    empty = Snapshot({"k": 5}, {}, {}, {}, {}, {}, {}, {}, cases, built_in_catalogue())
    return replace(empty, metrics=metrics, timing=timing)


def share(k: int, n: int) -> str:
    """With its Wilson interval."""
    p, z = k / n, 1.96
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return f"{p:.1%} [{middle - half:.1%}, {middle + half:.1%}]"


if __name__ == "__main__":
    main()
