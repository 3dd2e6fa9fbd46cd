"""The part of summary.json over all traces: domains, shares, rules, the effect of the weights, agreement."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.metrics.agreement import kendall, rank_agreement
from runner.metrics.trace import DIMENSIONS, RULES

Floats = NDArray[np.float64]

NOTHING = float("nan")
BUDGET_MS = 100  # for scoring one trace
FAR = 3.5  # robust z from which a score is an outlier
MAD_TO_SD = 0.6745  # Iglewicz and Hoaglin, How to detect and handle outliers, 1993
MEAN_TO_SD = 1.253314


def sums(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`trace` of summary.json, over the traces that have a score.

    unknown_success  traces without a score, because nothing tells whether they had success; absent where there are none

    domains      {domain: {n, mean, p10, p50, p90}}
    shares       of the sum of all scores before the rules, by dimension; they sum to 1 (0 where all scores are 0)
    rules        {rule: traces for which it fired}
    sensitivity  {profiles, tau: [[Kendall's tau-b of the orders under two profiles, null where one has no order]]}
    agreement    with ratings, where traces have them: runner.metrics.agreement
    outliers     ids of traces whose score is far from those of their domain

    `timing.trace_budget` counts the traces, `n`, that took more than `ms` milliseconds to score: `over` with their
    share of embedding, `over_without_embedding` without it.
    """
    columns, n_unknown, budget = _Columns(), 0, _Budget()
    for row in rows:
        if not isinstance(row.get("output"), Mapping):
            continue
        budget.add(row)
        if row["metrics"].get("score") is not None:
            columns.add(row)
        elif "success" in row["output"] and row["output"]["success"] is None:
            n_unknown += 1
    unknown = {"unknown_success": n_unknown} if n_unknown else {}
    block = {**(columns.as_block() if columns.ids else {}), **unknown}
    return {**({"trace": block} if block else {}), **budget.block()}


class _Budget:
    """The traces that took longer than the budget of the specification."""

    def __init__(self) -> None:
        self._n = self._over = self._over_without_embedding = 0

    def add(self, row: Mapping[str, Any]) -> None:
        timings = row.get("timings") or {}
        if "scoring" not in timings:
            return
        embedding, scoring = ((timings.get(name) or {}).get("ms") or 0.0 for name in ("embedding_share", "scoring"))
        self._n += 1
        self._over += embedding + scoring > BUDGET_MS
        self._over_without_embedding += scoring > BUDGET_MS

    def block(self) -> dict[str, Any]:
        """`timing` of the sums; empty where nothing was timed."""
        counts = {"n": self._n, "over": self._over, "over_without_embedding": self._over_without_embedding}
        return {"timing": {"trace_budget": {"ms": BUDGET_MS, **counts}}} if self._n else {}


class _Columns:
    """The parts of rows that are kept: numbers and ids."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._scores = array("d")
        self._ratings = array("d")  # NaN without one
        self._by_domain: dict[str, array[int]] = defaultdict(lambda: array("l"))
        self._by_profile: dict[str, array[float]] = defaultdict(lambda: array("d"))
        self._weighted: dict[str, float] = dict.fromkeys(DIMENSIONS, 0.0)
        self._fired: Counter[str] = Counter()

    def add(self, row: Mapping[str, Any]) -> None:
        output, metrics = row["output"], row["metrics"]
        self._by_domain[output["domain"]].append(len(self.ids))
        self.ids.append(row["id"])
        self._scores.append(metrics["score"])
        self._ratings.append(NOTHING if output.get("rating") is None else output["rating"])
        for profile, score in output["scores"].items():
            self._by_profile[profile].append(score)
        for name in DIMENSIONS:
            self._weighted[name] += metrics[name] * output["weights"][name]
        self._fired.update(output["rules"])

    def as_block(self) -> dict[str, Any]:
        scores = np.array(self._scores)
        places = {domain: np.array(rows) for domain, rows in sorted(self._by_domain.items())}
        far = np.sort(np.concatenate([rows[_are_far(scores[rows])] for rows in places.values()]))
        return {
            "domains": {domain: _distribution(scores[rows]) for domain, rows in places.items()},
            "shares": _shares(self._weighted),
            "rules": {rule: self._fired[rule] for rule in RULES},
            "sensitivity": _sensitivity({name: np.array(column) for name, column in self._by_profile.items()}),
            **_agreement(scores, np.array(self._ratings)),
            "outliers": [self.ids[place] for place in far],
        }


def _distribution(scores: Floats) -> dict[str, float | int]:
    p10, p50, p90 = np.percentile(scores, (10, 50, 90))
    return {"n": len(scores), "mean": float(scores.mean()), "p10": float(p10), "p50": float(p50), "p90": float(p90)}


def _shares(weighted: Mapping[str, float]) -> dict[str, float]:
    whole = sum(weighted.values())
    return {name: total / whole if whole else 0.0 for name, total in weighted.items()}


def _sensitivity(columns: Mapping[str, Floats]) -> dict[str, Any]:
    names = list(columns)
    found = {pair: kendall(columns[pair[0]], columns[pair[1]]) for pair in combinations_with_replacement(names, 2)}
    tau = [[found.get((left, right), found.get((right, left))) for right in names] for left in names]
    return {"profiles": names, "tau": tau}


def _agreement(scores: Floats, ratings: Floats) -> dict[str, Any]:
    rated = ~np.isnan(ratings)
    if np.count_nonzero(rated) < 2:
        return {}
    return {"agreement": asdict(rank_agreement(scores[rated], ratings[rated]))}


def _are_far(scores: Floats) -> NDArray[np.bool_]:
    """Whether scores are outliers by robust z: the distance to the median in median distances, or in mean ones where
    more than half are 0."""
    distances = np.abs(scores - np.median(scores))
    spread = float(np.median(distances)) / MAD_TO_SD or float(distances.mean()) * MEAN_TO_SD
    return np.asarray((distances > FAR * spread) & (spread > 0))
