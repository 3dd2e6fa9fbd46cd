"""What the engine itself costs: no-op cases through run, judge, score and journal, at 1, 32 and 256 in flight.

    python benchmarks/engine.py [CASES]

The baseline is the least that any runner must do: encode a row and append it to a file.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from runner.records import Judgements, Row, Scores, Timing
from runner.run.engine import Limits, run_cases
from runner.system.journal import Journal, encode


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    language: str | None = "en"
    difficulty: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    timings: Mapping[str, Timing] = field(default_factory=dict)

    def record(self) -> Mapping[str, Any]:
        return {"answer": "no-op"}


class NoOp:
    async def run(self, case: Case) -> Output:
        return Output()

    async def judge(self, case: Case, output: Output) -> Judgements:
        return {}

    def score(self, case: Case, output: Output | None, judgements: Judgements) -> Scores:
        return Scores({"score": 1.0})


def baseline(folder: Path, cases: int) -> float:
    """Microseconds a row."""
    started = time.perf_counter()
    with (folder / "baseline.jsonl").open("wb", buffering=0) as file:
        for number in range(cases):
            file.write(encode(Row(str(number), "ok", {"score": 1.0}, {"answer": "no-op"}, 0.01, "en")))
    return (time.perf_counter() - started) / cases * 1e6


def engine(folder: Path, cases: int, concurrency: int) -> float:
    """Microseconds a case."""
    (folder / "per_item.jsonl").unlink(missing_ok=True)
    with Journal(folder / "per_item.jsonl") as journal:
        started = time.perf_counter()
        numbers = (Case(str(number)) for number in range(cases))
        asyncio.run(run_cases(NoOp(), numbers, Limits(concurrency, 60), journal.append, print))
        return (time.perf_counter() - started) / cases * 1e6


def main() -> None:
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = min(baseline(folder, cases) for _ in range(3))
        print(f"{cases:,} cases; baseline (encode and append a row): {base:.1f} µs a row")
        print(f"{'in flight':>9}  {'µs a case':>9}  {'ratio':>5}  {'memory, MB':>10}")
        for concurrency in (1, 32, 256):
            before = process.memory_info().rss
            cost = min(engine(folder, cases, concurrency) for _ in range(3))
            grown = (process.memory_info().rss - before) / 1e6
            print(f"{concurrency:>9}  {cost:>9.1f}  {cost / base:>5.1f}  {grown:>+10.1f}")


if __name__ == "__main__":
    main()
