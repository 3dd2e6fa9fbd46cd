"""What scoring reasoning traces costs: a whole run, reading, the score, the scan of a full cache, a cache in a server,
embedders, and memory.

python benchmarks/trace.py [TRACES] [--e5]
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from plugins.dataset.traces import TracesDataset
from plugins.embedder.lsa import LsaEmbedder
from runner.data.problems import ProblemLog
from runner.domains.memory.embedded_server import acquire, release
from runner.domains.memory.redis_server import RedisServer
from runner.domains.traces import score_trace
from runner.domains.traces.novelty import VectorCache
from runner.domains.traces.past import BATCH
from runner.domains.traces.reading import placed_traces
from runner.domains.traces.records import Trace
from runner.domains.traces.shared_cache import SharedPlace, SharedVectorCache
from runner.metrics import trace as metrics
from runner.metrics.profile import shipped_profiles
from runner.protocols import Embedder
from runner.system.store import Store

CACHE, DIM = 1000, 384
RUN = """
import resource, sys
from runner.cli import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)
sys.exit(code)
"""


def main(words: list[str]) -> None:
    n = int(next((word for word in words if word.isdigit()), 100_000))
    traces, _ = TracesDataset().read()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "traces.jsonl", n)
        write(Path(folder) / "few.jsonl", max(1, n // 10))
        runs(Path(folder), n)
        reading(Path(folder) / "traces.jsonl", n)
        rules(traces)
        scan()
        asyncio.run(shared_scan())
        embedding("lsa", LsaEmbedder(), traces, Path(folder))
        if "--e5" in words:
            from plugins.embedder.e5 import E5Embedder

            embedding("e5", E5Embedder(), traces, Path(folder))


def write(path: Path, n: int) -> None:
    """Those of the program, again and again under new ids."""
    lines = [line for file in TracesDataset().paths for line in Path(file).read_text(encoding="utf-8").splitlines()]
    records = [json.loads(line) for line in lines]
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            record = records[number % len(records)] | {"id": f"t{number}"}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def runs(folder: Path, n: int) -> None:
    """The experiment from the command line to the last file, each in a process of its own."""
    peaks = {}
    for name in ("few", "traces"):
        words = ["+experiment=trace_quality", "tracking=none", "format=json"]
        words += [f"dataset.traces={folder / name}.jsonl", f"out={folder / name}"]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *words], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
        )
        peaks[name], seconds = map(float, done.stdout.split()[-2:])
    few = max(1, n // 10)
    grown = (peaks["traces"] - peaks["few"]) / (n - few) * 1024
    print(f"a run of {n} traces: {seconds / n * 1e6:.0f} us of processor time a trace")
    print(f"  peak memory of a run of {few}: {peaks['few']:.0f} MB, of {n}: {peaks['traces']:.0f} MB", end="")
    print(f" ({grown:.2f} KB a trace: ids, hashes and scores)")


def reading(path: Path, n: int) -> None:
    """Scoring n traces as they are read, so that none is held."""
    taken = dict.fromkeys(("read", "score"), 0.0)
    began = time.perf_counter()
    traces = (trace for *_, trace in placed_traces([str(path)], "traces", ProblemLog()))
    for number, (trace, waited) in enumerate(timed(traces)):
        started = time.perf_counter()
        score_trace(trace)
        taken["score"] += time.perf_counter() - started
        taken["read"] += waited
        if number == n // 10:
            early = peak_mb()
    whole = time.perf_counter() - began
    size = path.stat().st_size / n
    print(f"{n} traces of {size:.0f} bytes, without an embedder: {whole / n * 1e6:.1f} us a trace")
    print(f"  reading and validating {taken['read'] / n * 1e6:.1f} us, score_trace {taken['score'] / n * 1e6:.2f} us")
    print(f"  peak memory after a tenth {early:.0f} MB, after all {peak_mb():.0f} MB (ids are kept, traces are not)")


def rules(traces: Any) -> None:
    rows = [([s.type for s in t.steps], [s.tool for s in t.steps], t.success, t.confidence) for t in traces]
    weights = shipped_profiles()["default"].weights

    def composite() -> None:
        for types, tools, success, confidence in rows:
            dimensions = {
                "complexity": metrics.complexity(types),
                "novelty": 0.5,
                "diversity": metrics.diversity(tools),
                "outcome": metrics.outcome(confidence, success),
            }
            metrics.weighted_sum(dimensions, weights)

    def ruled() -> None:
        for types, tools, success, _ in rows:
            metrics.apply_rules(0.5, types, tools, success)

    for name, call in (("composite", composite), ("rules", ruled)):
        print(f"{name}: {per_call(call, 200) / len(rows) * 1e6:.2f} us a trace")


def scan() -> None:
    random = np.random.default_rng(42)
    vectors = random.normal(size=(CACHE, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for name, ttl_ms in (("without a TTL", None), ("with a TTL", 3_600_000)):
        cache = VectorCache(max_elements=CACHE, dimensions=DIM, ttl_ms=ttl_ms)
        for vector in vectors:
            cache.add(vector)
        full = per_call(partial(cache.nearest, vectors[7]), 2000)
        bare = per_call(lambda: vectors @ vectors[7], 2000)
        print(f"scan of {CACHE} x {DIM} {name}: {full * 1e3:.3f} ms, {full / bare:.2f} times the bare product")


async def shared_scan() -> None:
    """The same cache in a Valkey on this machine: one request a vector."""
    server = acquire()
    link = RedisServer(setting="novelty", url=f"unix://{server.socket}", retries=0).link(name="it", full="")
    try:
        cache = SharedVectorCache(link, SharedPlace("benchmark", "{}", 60_000), VectorCache())
        times = []
        for vector in np.random.default_rng(42).normal(size=(3 * CACHE, DIM)).astype(np.float32):
            started = time.perf_counter()
            await cache.novelty(vector)
            times.append(time.perf_counter() - started)
    finally:
        await link.close()
        release(server)
    p50, p95 = np.percentile(times[CACHE:], (50, 95)) * 1e3
    print(f"novelty by a full cache in a server: p50 {p50:.2f} ms, p95 {p95:.2f} ms")


def embedding(name: str, embedder: Embedder, traces: Any, folder: Path) -> None:
    """One trace at a time, as an agent would be scored while it works, and in batches, as a run does it."""
    texts = [trace.text for trace in traces]
    embedder.prepare(texts, Store(folder, {id(embedder): name}))
    embedder.embed(["warm-up"], "passage")
    cache, times = VectorCache(), []
    for trace in traces:
        started = time.perf_counter()
        score_trace(trace, novelty=cache.novelty(embedder.embed([trace.text], "passage")[0]))
        times.append(time.perf_counter() - started)
    p50, p95 = statistics.median(times) * 1e3, np.percentile(times, 95) * 1e3
    print(f"with {name}, one at a time: p50 {p50:.1f} ms, p95 {p95:.1f} ms, n={len(times)}")
    started, again = time.perf_counter(), [f"{text} ." for text in texts]
    for first in range(0, len(again), BATCH):
        embedder.embed(again[first : first + BATCH], "passage")
    share = (time.perf_counter() - started) * 1e3 / len(again)
    print(f"with {name}, {BATCH} at a time: {share:.1f} ms a trace (time of a batch, shared out)")


def timed(traces: Iterator[Trace]) -> Iterator[tuple[Trace, float]]:
    """Each with the seconds that it took to get it."""
    while True:
        started = time.perf_counter()
        batch = list(islice(traces, 1))
        if not batch:
            return
        yield batch[0], time.perf_counter() - started


def per_call(call: Callable[[], object], times: int) -> float:
    """Median seconds."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1:])
