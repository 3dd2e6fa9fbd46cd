"""Snapshots and comparison of two large runs: seconds and peak memory, each step in a process of its own.

python benchmarks/comparison.py [--cases 100000] [--metrics 40] [--tags 20]

snapshot   per_item.jsonl of a run to its snapshot.json
compare    two snapshots to a comparison: pairing, every metric with interval and p, slices, gate, flips
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import orjson

from runner.compare.compare import compare
from runner.compare.regression import Regression
from runner.compare.sides import Finder
from runner.compare.snapshot import write_snapshot

MEASURES = ("recall", "ndcg", "mrr", "hit_rate", "precision", "map")
LANGUAGES = ("ko", "en")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--metrics", type=int, default=40)
    parser.add_argument("--tags", type=int, default=20)
    parser.add_argument("--step", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(*options.step)
        return
    print(f"{options.cases:,} cases x {options.metrics} metrics, {options.tags} tags")
    with tempfile.TemporaryDirectory() as scratch:
        for name, shift in (("baseline", 0.0), ("candidate", 0.01)):
            write_run(Path(scratch) / name, shift, options)
        for words in (["snapshot", f"{scratch}/baseline"], ["snapshot", f"{scratch}/candidate"], ["compare", scratch]):
            done = subprocess.run(
                [sys.executable, __file__, "--step", *words], check=True, capture_output=True, text=True
            )
            print(done.stdout.strip())
        size = (Path(scratch) / "baseline/snapshot.json").stat().st_size
        print(f"snapshot.json: {size / 2**20:.0f} MiB, {size / options.cases / options.metrics:.1f} bytes a value")


def step(name: str, folder: str) -> None:
    started = time.perf_counter()
    if name == "snapshot":
        write_snapshot(Path(folder))
        found = ""
    else:
        finder = Finder(Path(folder))
        sides = [finder.open(f"{folder}/{side}") for side in ("baseline", "candidate")]
        read_s = time.perf_counter() - started
        rules = [{"metric": "recall_at_10", "margin": 0.05}]
        result = compare(*sides, Regression(rules=rules, must_not_break=[]), seed=42)
        found = f"  verdict {result.verdict}, {len(result.slices)} rows of slices, reading {read_s:.1f} s"
    seconds, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = used.ru_utime + used.ru_stime
    print(f"{name:<10} {seconds:6.1f} s   CPU {cpu_s:5.1f} s   peak {used.ru_maxrss / 1024:6.0f} MiB{found}")


def names(n: int) -> list[str]:
    every = [f"{measure}_at_{cutoff}" for cutoff in (10, 5, 3, 1, 20, 50, 100) for measure in MEASURES]
    return every[:n]


def write_run(folder: Path, shift: float, options: argparse.Namespace) -> None:
    """Values that differ in a third of the cases, as rows of a run have them."""
    folder.mkdir()
    metrics = names(options.metrics)
    same, own = np.random.default_rng(1), np.random.default_rng(int(shift * 1000) + 2)
    values = same.integers(0, 5, (options.cases, len(metrics))) / 4
    moved = own.random(values.shape) < 0.33
    values = np.clip(np.where(moved, own.random(values.shape) + shift, values), 0, 1)
    with (folder / "per_item.jsonl").open("wb") as file:
        for case in range(options.cases):
            file.write(row(case, dict(zip(metrics, values[case].tolist(), strict=True)), options.tags))
    estimate = {"value": 0.5, "n": options.cases, "n_scored": options.cases, "ci_low": 0.4, "ci_high": 0.6}
    named = {"id": folder.name, "evaluation_type": "retrieval_only", "experiment": "benchmark"}
    run = {**named, "k": 5, "status": "completed"}
    summary = {"metrics": dict.fromkeys(metrics, estimate), "cases": {"total": options.cases}}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "summary.json").write_text(json.dumps(summary))


def row(case: int, metrics: dict[str, float], tags: int) -> bytes:
    lost = "none" if metrics["recall_at_10"] > 0.2 else "below_k"
    record = {
        "id": f"case-{case:07d}", "status": "ok", "metrics": metrics, "latency_ms": 10.0 + case % 97,
        "output": {"query": f"question {case}", "gold": f"{case:016x}"},
        "language": LANGUAGES[case % 2], "difficulty": "easy", "tags": [f"tag-{case % tags}"],
        "labels": {"lost_at": lost}, "unscored": [], "weights": {}, "timings": {}, "judgements": {},
    }  # fmt: skip
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    main()
