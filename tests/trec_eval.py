"""What trec_eval makes of rankings, under the names of this program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytrec_eval

NAMES = {
    "precision": "P",
    "recall": "recall",
    "hit_rate": "success",
    "ndcg": "ndcg_cut",
    "map": "map_cut",
}


def measured(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]], cutoffs: Iterable[int]
) -> dict[str, dict[str, float]]:
    """By query. trec_eval has no cutoff for the reciprocal rank, so that is added."""
    ks = list(cutoffs)
    cuts = ",".join(map(str, ks))
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"{name}.{cuts}" for name in NAMES.values()} | {"recip_rank"})
    return {query: _ours(values, ks) for query, values in evaluator.evaluate(run).items()}


def _ours(values: Mapping[str, float], ks: list[int]) -> dict[str, float]:
    found = {f"{ours}@{k}": values[f"{theirs}_{k}"] for ours, theirs in NAMES.items() for k in ks}
    reciprocal = values["recip_rank"]
    return found | {f"mrr@{k}": reciprocal if reciprocal * k > 1 - 1e-9 else 0.0 for k in ks}
