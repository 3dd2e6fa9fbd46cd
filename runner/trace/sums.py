"""What is told of all traces of a run together: domains, shares, rules, what the weights change, who agrees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.metrics.rank_agreement import kendall, rank_agreement
from runner.metrics.trace import DIMENSIONS, RULES

Floats = NDArray[np.float64]

FAR = 3.5  # robust z from which a score is an outlier
MAD_TO_SD = 0.6745  # Iglewicz and Hoaglin, How to detect and handle outliers, 1993
MEAN_TO_SD = 1.253314


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`trace` of summary.json, over the traces that have a score.

    domains      {domain: {n, mean, p10, p50, p90}}
    shares       of the sum of all scores before the rules, by dimension; they sum to 1 (0 where all scores are 0)
    rules        {rule: traces for which it fired}
    sensitivity  {profiles, tau: [[Kendall's tau-b of the orders under two profiles, null where one has no order]]}
    agreement    with ratings, where traces have them: runner.metrics.rank_agreement
    outliers     ids of traces whose score is far from those of their domain
    """
    kept = [row for row in rows if isinstance(row.get("output"), Mapping) and row["metrics"].get("score") is not None]
    if not kept:
        return {}
    by_domain: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in kept:
        by_domain[row["output"]["domain"]].append(row)
    found = {
        "domains": {domain: _distribution(_scores(rows)) for domain, rows in sorted(by_domain.items())},
        "shares": _shares(kept),
        "rules": _rules(kept),
        "sensitivity": _sensitivity([row["output"]["scores"] for row in kept]),
        **_agreement(kept),
        "outliers": [id for rows in by_domain.values() for id in _outliers(rows)],
    }
    return {"trace": found}


def _scores(rows: Sequence[Mapping[str, Any]]) -> Floats:
    return np.array([row["metrics"]["score"] for row in rows], dtype=np.float64)


def _distribution(scores: Floats) -> dict[str, float | int]:
    p10, p50, p90 = np.percentile(scores, (10, 50, 90))
    return {"n": len(scores), "mean": float(scores.mean()), "p10": float(p10), "p50": float(p50), "p90": float(p90)}


def _shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    totals = {name: sum(row["metrics"][name] * row["output"]["weights"][name] for row in rows) for name in DIMENSIONS}
    whole = sum(totals.values())
    return {name: total / whole if whole else 0.0 for name, total in totals.items()}


def _rules(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    fired = Counter(rule for row in rows for rule in row["output"]["rules"])
    return {rule: fired[rule] for rule in RULES}


def _sensitivity(scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    profiles = list(scores[0])
    columns = [np.array([each[name] for each in scores], dtype=np.float64) for name in profiles]
    tau = [[kendall(left, right) for right in columns] for left in columns]
    return {"profiles": profiles, "tau": tau}


def _agreement(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rated = [row for row in rows if row["output"].get("rating") is not None]
    if len(rated) < 2:
        return {}
    ratings = np.array([row["output"]["rating"] for row in rated], dtype=np.float64)
    return {"agreement": asdict(rank_agreement(_scores(rated), ratings))}


def _outliers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """By robust z: the distance to the median in median distances, or in mean ones where more than half are 0."""
    scores = _scores(rows)
    distances = np.abs(scores - np.median(scores))
    spread = float(np.median(distances)) / MAD_TO_SD or float(distances.mean()) * MEAN_TO_SD
    return [row["id"] for row, distance in zip(rows, distances, strict=True) if distance > FAR * spread > 0]
