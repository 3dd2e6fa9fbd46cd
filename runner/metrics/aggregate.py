"""Rows of cases in, the numbers of summary.json out: means with intervals, slices, counts, latencies.

A metric of a case is in one of four states:

    scored           a number
    counted failure  a number, and the name in `unscored`: a failed judgement that counts as that number
    unscored         no number, and the name in `unscored`: applies, but could not be scored
    not applicable   no number (or a weight of 0)

An estimate has `n` = the first three, `n_scored` = the first. `value` is the mean over the first two,
`value_scored` over the first alone, both weighted where the case has a weight. The interval is that of `value`,
by the declared range of the metric; it is unknown for equal values of a metric without one. NaN and infinities
are no numbers: such a metric is unscored.

Rows are read one at a time; 13 bytes stay in memory for each case and metric that applies.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.metrics import statistics
from runner.metrics.metric import Catalogue
from runner.records import Estimate, Row

Floats = NDArray[np.float64]

COST = ("requests", "input_tokens", "output_tokens", "usd")
_UNSCORED, _COUNTED_FAILURE, _SCORED = range(3)

Rows = Iterable[Row | Mapping[str, Any]]
Estimates = dict[str, dict[str, float | int | None]]


def aggregate(
    rows: Rows,
    catalogue: Catalogue,
    *,
    seed: int,
    total: int | None = None,
    resamples: int = statistics.RESAMPLES,
) -> dict[str, Any]:
    """`cases`, `metrics`, `slices` and `counts` of summary.json from rows in case order.

    `catalogue` knows how summaries call what a row names. `total` is the number of cases that there should be (default:
    all are there); the rest is pending.
    Every metric that a row names appears. Those with a `/` in the name (legs of a fusion, chunks) are not
    sliced. `cases.unscored` counts cases that ended well but name a metric in `unscored`.
    """
    table = _Table(catalogue)
    for row in rows:
        table.add(row)
    estimates = _Estimator(table, seed, resamples)
    return {
        "cases": table.case_counts(total),
        "metrics": estimates.over(range(table.n_rows), legs=True),
        "slices": {
            kind: {value: estimates.over(members) for value, members in sorted(values.items())}
            for kind, values in table.slices.items()
        },
        "counts": {label: dict(sorted(counts.items())) for label, counts in sorted(table.counts.items())},
    }


def latency(rows: Rows) -> dict[str, dict[str, float | int | None]]:
    """`{stage: {"p50_ms", "p95_ms", "n"}}` over live timings, and `case` over whole cases.

    A whole case counts when it ended well and every stage of it was live.
    """
    times = Times()
    for row in rows:
        times.add(row)
    return times.percentiles()


class Times:
    """Live timings of rows as they pass."""

    def __init__(self) -> None:
        self._times: dict[str, array[float]] = {"case": array("d")}

    def add(self, row: Row | Mapping[str, Any]) -> None:
        """Count a row."""
        timings = _field(row, "timings", {})
        for stage, timing in timings.items():
            ms = _field(timing, "ms", None)
            if ms is not None and _field(timing, "live", True):
                self._times.setdefault(stage, array("d")).append(ms)
        whole = _field(row, "latency_ms", None)
        all_live = all(_field(timing, "live", True) for timing in timings.values())
        if whole is not None and all_live and _field(row, "status", "ok") == "ok":
            self._times["case"].append(whole)

    def percentiles(self) -> dict[str, dict[str, float | int | None]]:
        """By stage."""
        return {stage: _percentiles(self._times[stage]) for stage in sorted(self._times)}


def cost(rows: Rows) -> dict[str, Any]:
    """`{"cases": n, "roles": {role: {"requests", "input_tokens", "output_tokens", "usd"}}}`: what the requests of cases
    that ended well came to, each once, live or from the cache; `usd` None where a price is unknown. Empty where no
    model was asked. The order of rows changes nothing."""
    costs = Costs()
    for row in rows:
        costs.add(row)
    return costs.sums()


class Costs:
    """What the requests of rows came to, as they pass."""

    def __init__(self) -> None:
        self._n = 0
        self._numbers: defaultdict[str, list[list[Any]]] = defaultdict(list)

    def add(self, row: Row | Mapping[str, Any]) -> None:
        """Count a row."""
        if _field(row, "status", "ok") == "ok":
            self._n += 1
            for role, spent in _field(row, "cost", {}).items():
                self._numbers[role].append([_field(spent, name, None) for name in COST])

    def sums(self) -> dict[str, Any]:
        """By role."""
        sums = {role: map(_total, zip(*self._numbers[role], strict=True)) for role in sorted(self._numbers)}
        roles = {role: dict(zip(COST, totals, strict=True)) for role, totals in sums.items()}
        return {"cases": self._n, "roles": roles} if roles else {}


def _total(numbers: Sequence[float | None]) -> float | int | None:
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return None
    return sum(known) if all(isinstance(number, int) for number in known) else math.fsum(known)


def _percentiles(times: Sequence[float]) -> dict[str, float | int | None]:
    p50, p95 = statistics.percentiles(times, (50, 95))
    return {"p50_ms": p50, "p95_ms": p95, "n": len(times)}


def _field(record: Any, name: str, default: Any) -> Any:
    """A field of a record or of its JSON form; null counts as absent."""
    value = record.get(name) if isinstance(record, Mapping) else getattr(record, name)
    return default if value is None else value


@dataclass(slots=True)
class _Column:
    """One metric over the rows to which it applies. `weights` has the entries whose weight is not 1."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    values: array[float] = field(default_factory=lambda: array("d"))
    states: bytearray = field(default_factory=bytearray)
    weights: dict[int, float] = field(default_factory=dict)

    def put(self, row: int, value: float | None, unscored: bool, weight: float) -> None:
        if (value is None and not unscored) or not weight > 0:
            return
        is_number = value is not None and math.isfinite(value)
        if weight != 1:
            self.weights[len(self.rows)] = weight
        self.rows.append(row)
        self.values.append(float(value) if value is not None and is_number else 0.0)
        self.states.append((_COUNTED_FAILURE if unscored else _SCORED) if is_number else _UNSCORED)


class _Table:
    """What is kept of the rows."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._names = catalogue.summary_names
        self.n_rows = 0
        self.n_unscored = 0
        self.statuses: Counter[str] = Counter()
        self.columns: defaultdict[str, _Column] = defaultdict(_Column)
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.slices: dict[str, dict[str, array[int]]] = {"language": {}, "difficulty": {}, "tag": {}}

    def add(self, row: Row | Mapping[str, Any]) -> None:
        status, metrics = _field(row, "status", "ok"), _field(row, "metrics", {})
        unscored, weights = _field(row, "unscored", ()), _field(row, "weights", {})
        for name in dict.fromkeys((*metrics, *unscored)):
            column = self.columns[self._names.get(name, name)]
            column.put(self.n_rows, metrics.get(name), name in unscored, weights.get(name, 1.0))
        for label, category in _field(row, "labels", {}).items():
            self.counts[label][category] += 1
        self._slice(row)
        self.statuses[status] += 1
        self.n_unscored += status == "ok" and bool(unscored)
        self.n_rows += 1

    def _slice(self, row: Row | Mapping[str, Any]) -> None:
        values = {kind: [_field(row, kind, None)] for kind in ("language", "difficulty")}
        for kind, members in {**values, "tag": dict.fromkeys(_field(row, "tags", ()))}.items():
            for value in members:
                if value is not None:
                    self.slices[kind].setdefault(value, array("I")).append(self.n_rows)

    def case_counts(self, total: int | None) -> dict[str, int]:
        total = self.n_rows if total is None else total
        by_status = {status: self.statuses[status] for status in ("ok", "failed", "timeout")}
        return {"total": total, **by_status, "pending": total - self.n_rows, "unscored": self.n_unscored}


@dataclass(frozen=True, slots=True)
class _Sample:
    """One metric over a set of cases: which cases have a number, the numbers, and which of them are scored."""

    n: int
    cases: NDArray[np.uint32]
    values: Floats
    scored: NDArray[np.bool_]
    weights: Floats | None

    def estimate(self) -> Estimate:
        """Without its interval."""
        scored_weights = None if self.weights is None else self.weights[self.scored]
        return Estimate(
            value=statistics.mean(self.values, self.weights),
            n=self.n,
            n_scored=int(self.scored.sum()),
            ci_low=None,
            ci_high=None,
            value_scored=statistics.mean(self.values[self.scored], scored_weights),
        )


class _Estimator:
    """Estimates over any set of rows. The same set is worked out once: tags often cover the whole data set."""

    def __init__(self, table: _Table, seed: int, resamples: int) -> None:
        self._table = table
        self._seed = seed
        self._resamples = resamples
        self._done: dict[bytes, Estimates] = {}

    def over(self, members: Sequence[int], *, legs: bool = False) -> Estimates:
        mask = np.zeros(self._table.n_rows, dtype=bool)
        mask[np.asarray(members, dtype=np.intp)] = True
        key = mask.tobytes()
        if key not in self._done:
            self._done[key] = self._estimates(mask, [name for name in self._table.columns if legs or "/" not in name])
        return {name: estimate for name, estimate in self._done[key].items() if legs or "/" not in name}

    def _estimates(self, mask: NDArray[np.bool_], names: Sequence[str]) -> Estimates:
        groups: dict[tuple[bytes, bool], list[str]] = defaultdict(list)
        for name in names:
            sample = self._sample(name, mask)
            groups[sample.cases.tobytes(), sample.weights is None].append(name)
        found = {name: estimate for group in groups.values() for name, estimate in self._group(group, mask)}
        return {name: asdict(found[name]) for name in names}

    def _group(self, names: Sequence[str], mask: NDArray[np.bool_]) -> Iterator[tuple[str, Estimate]]:
        """Estimates of metrics that have numbers for the same cases, so that they can share resamples. The numbers
        of one group are in memory at a time."""
        estimates, values, weights = [], [], []
        for name in names:
            sample = self._sample(name, mask)
            estimates.append(sample.estimate())
            values.append(sample.values)
            weights += [] if sample.weights is None else [sample.weights]
        if len(values[0]) == 0:
            yield from zip(names, estimates, strict=True)
            return
        intervals = self._intervals(names, values, weights)
        for name, estimate, (low, high) in zip(names, estimates, intervals.tolist(), strict=True):
            yield name, estimate if math.isnan(low) else replace(estimate, ci_low=low, ci_high=high)

    def _intervals(self, names: Sequence[str], values: list[Floats], weights: list[Floats]) -> Floats:
        """Of columns, which are let go."""
        side_by_side = np.column_stack(values), np.column_stack(weights) if weights else None
        values.clear()
        weights.clear()
        ranges = np.array([self._table.catalogue.variant(name).range for name in names])
        return statistics.mean_intervals(*side_by_side, ranges=ranges, seed=self._seed, resamples=self._resamples)

    def _sample(self, name: str, mask: NDArray[np.bool_]) -> _Sample:
        column = self._table.columns[name]
        rows = np.array(column.rows, dtype=np.uint32)
        states = np.frombuffer(bytes(column.states), dtype=np.uint8)
        weights = None
        if column.weights:
            weights = np.ones(len(rows))
            weights[list(column.weights)] = list(column.weights.values())
        applies = mask[rows]
        has_number = applies & (states != _UNSCORED)
        return _Sample(
            n=int(applies.sum()),
            cases=rows[has_number],
            values=np.array(column.values, dtype=np.float64)[has_number],
            scored=states[has_number] == _SCORED,
            weights=None if weights is None else weights[has_number],
        )
