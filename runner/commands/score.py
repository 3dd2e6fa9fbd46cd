"""Score a TREC run file against TREC relevance judgements."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runner.commands import LANGUAGE, Command, Option, Place
from runner.config.language import language_of
from runner.data import trec_runs as trec
from runner.errors import DataError
from runner.metrics.ranking import rank_ids, score_rankings
from runner.system import terminal
from runner.words.wording import Wording, wording

LARGEST = 10**15


def _cutoffs(text: str) -> tuple[int, ...]:
    try:
        cutoffs = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        cutoffs = (0,)
    if cutoffs[0] < 1 or cutoffs[-1] > LARGEST:
        raise ValueError("expected whole numbers from 1 to 1e15, separated by commas")
    return cutoffs


COMMAND = Command(
    "score",
    (Place("qrels", Path), Place("run", Path)),
    (Option("per_query"), Option("cutoffs", "K,K,…", _cutoffs, (1, 3, 5, 10)), LANGUAGE),
)


def main(argv: Sequence[str]) -> int:
    """Raises InputError for wrong arguments and DataError for unusable files."""
    options = COMMAND.read(argv)
    qrels = trec.read_qrels(options.qrels)
    relevant = {query: grades for query, grades in qrels.items() if any(grade > 0 for grade in grades.values())}
    if not relevant:
        raise DataError(f"{options.qrels}: no query has a relevant document (a grade above 0)")
    run = trec.read_run(options.run)
    _note_differences(relevant, qrels, run, wording(language_of(argv), "outcomes"))
    values = evaluate(relevant, run, options.cutoffs)
    if options.per_query:
        columns = list(zip(*(column.tolist() for column in values.values()), strict=True))
        result: object = {
            query.decode(): dict(zip(values, row, strict=True)) for query, row in zip(relevant, columns, strict=True)
        }
    else:
        result = {"queries": len(relevant)} | {name: math.fsum(column) / len(column) for name, column in values.items()}
    terminal.write(json.dumps(result, ensure_ascii=False, indent=2) + "\n")
    return 0


def evaluate(qrels: trec.Qrels, run: trec.Run, cutoffs: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """`{"precision@1": float64 [n_queries], …}` in the order of the judgements, NaN for a query without a
    relevant document."""
    longest = max(len(documents) for side in (qrels, run) for documents in side.values())
    depth = min(max(cutoffs), longest)
    grades = np.zeros((len(qrels), depth), dtype=np.int64)
    ideal = np.zeros_like(grades)
    n_relevant = np.zeros(len(qrels), dtype=np.int64)
    for row, (query, judged) in enumerate(qrels.items()):
        ranked_grades = [judged.get(document, 0) for document in rank_ids(run.get(query, {}))[:depth]]
        best = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
        grades[row, : len(ranked_grades)] = ranked_grades
        ideal[row, : len(best[:depth])] = best[:depth]
        n_relevant[row] = len(best)
    return score_rankings(grades, n_relevant, ideal, cutoffs)


def _note_differences(relevant: trec.Qrels, qrels: trec.Qrels, run: Mapping[bytes, object], say: Wording) -> None:
    """Print a note on queries that only one of the files has."""
    missing = sum(query not in run for query in relevant)
    unknown = sum(query not in qrels for query in run)
    if len(relevant) < len(qrels):
        terminal.note(say("score.irrelevant", n=len(qrels) - len(relevant), total=len(qrels)))
    if missing:
        terminal.note(say("score.missing", n=missing, total=len(relevant)))
    if unknown:
        terminal.note(say("score.unjudged", n=unknown))
