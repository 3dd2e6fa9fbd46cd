"""Ranking metrics of 10,000 queries with 100 results each, against pytrec_eval: time and ratio.

    python benchmarks/metrics.py [--queries 10000] [--depth 100] [--repeats 3]

Both sides compute precision, recall, hit rate, nDCG, MAP and reciprocal rank at 1, 3, 5 and 10 and must
agree. Three comparisons, best CPU time of the repeats, one process, one thread:

    arrays   grades that are already arrays of integers, against evaluating a ready dictionary
    ids      one query at a time from ids in order (as the engine scores a case), against the same
    files    `python -m runner score` without starting Python: reading both files, ordering, scoring
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import contextlib
import io
import json
import math
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytrec_eval

from runner.commands import score
from runner.metrics.ranking import ranking_metrics, score_rankings

CUTOFFS = (1, 3, 5, 10)
ORACLE_NAMES = {"precision": "P", "recall": "recall", "hit_rate": "success", "ndcg": "ndcg_cut", "map": "map_cut"}
MEASURES = {f"{name}.1,3,5,10" for name in ORACLE_NAMES.values()} | {"recip_rank"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    qrels, run = data(options.queries, options.depth)
    print(f"{options.queries} queries x {options.depth} results, {sum(map(len, qrels.values()))} judgements")
    print(f"{'':8}{'ours':>10}{'pytrec_eval':>14}{'ratio':>8}")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)
    theirs, expected = best(lambda: evaluator.evaluate(run), options.repeats)
    arrays = as_arrays(qrels, run)
    compare("arrays", best(lambda: score_rankings(*arrays, CUTOFFS), options.repeats), theirs, expected)
    orders = {query: list(scores) for query, scores in run.items()}
    compare("ids", best(lambda: one_by_one(orders, qrels), options.repeats), theirs, expected)
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), qrels, run)
        theirs, expected = best(lambda: pytrec_files(*paths), options.repeats)
        compare("files", best(lambda: score_files(*paths), options.repeats), theirs, expected)


def data(n_queries: int, depth: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Graded judgements and a run in order; about a seventh of the results and ten more documents are judged."""
    source = random.Random(1)
    qrels, run = {}, {}
    for query in range(n_queries):
        documents = [f"doc{number:07d}" for number in source.sample(range(1_000_000), depth)]
        judged = documents[::7] + [f"doc{number:07d}" for number in source.sample(range(1_000_000, 2_000_000), 10)]
        qrels[f"q{query}"] = {document: source.randint(0, 3) for document in judged}
        qrels[f"q{query}"][judged[-1]] = 1
        run[f"q{query}"] = {document: float(depth - rank) for rank, document in enumerate(documents)}
    return qrels, run


def as_arrays(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> tuple[Any, Any, Any]:
    grades = np.array([[qrels[query].get(document, 0) for document in run[query]] for query in qrels])
    best_first = [sorted((grade for grade in judged.values() if grade > 0), reverse=True) for judged in qrels.values()]
    ideal = np.zeros((len(qrels), max(map(len, best_first))), dtype=np.int64)
    for row, found in enumerate(best_first):
        ideal[row, : len(found)] = found
    return grades, (ideal > 0).sum(axis=1), ideal


def one_by_one(orders: dict[str, list[str]], qrels: dict[str, dict[str, int]]) -> dict[str, list[float]]:
    rows = [ranking_metrics(orders[query], judged, CUTOFFS) for query, judged in qrels.items()]
    return {name: [row[name] or 0.0 for row in rows] for name in rows[0]}


def write(folder: Path, qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> tuple[str, str]:
    judgements = (
        f"{query} 0 {document} {grade}\n" for query, found in qrels.items() for document, grade in found.items()
    )
    (folder / "qrels").write_text("".join(judgements))
    results = (
        f"{query} Q0 {document} {rank} {value} tag\n"
        for query, found in run.items()
        for rank, (document, value) in enumerate(found.items(), 1)
    )
    (folder / "run").write_text("".join(results))
    return str(folder / "qrels"), str(folder / "run")


def score_files(qrels: str, run: str) -> dict[str, float]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        score.main([qrels, run])
    return json.loads(output.getvalue())


def pytrec_files(qrels: str, run: str) -> Any:
    with Path(qrels).open() as judgements, Path(run).open() as results:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judgements), MEASURES)
        return evaluator.evaluate(pytrec_eval.parse_run(results))


def best(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Least CPU seconds, and the last result."""
    seconds, result = math.inf, None
    for _ in range(repeats):
        started = time.process_time()
        result = function()
        seconds = min(seconds, time.process_time() - started)
    return seconds, result


def compare(name: str, ours: tuple[float, Any], theirs: float, expected: dict[str, dict[str, float]]) -> None:
    """One line of the table. Stops when the means differ."""
    seconds, values = ours
    for measure, trec_name in ORACLE_NAMES.items():
        for k in CUTOFFS:
            mean = math.fsum(row[f"{trec_name}_{k}"] for row in expected.values()) / len(expected)
            found = float(np.mean(values[f"{measure}@{k}"]))
            if abs(mean - found) > 1e-12:
                raise SystemExit(f"{name}: {measure}@{k} is {found}, pytrec_eval says {mean}")
    print(f"{name:8}{seconds:>9.3f}s{theirs:>13.3f}s{theirs / seconds:>7.1f}x")


if __name__ == "__main__":
    main()
