"""Rows of cases in, the numbers of summary.json out: means with intervals, slices, counts, latencies.

A metric of a case is in one of four states:

    scored           a number
    counted failure  a number, and the name in `unscored`: a failed judgement that counts as that number
    unscored         no number, and the name in `unscored`: applies, but could not be scored
    undecided        no number, and the label that says why (`Metric.decided_by`)
    not applicable   no number (or a weight of 0)

An estimate has `n` = the first four, `n_scored` = the first. `value` is the mean over the first two,
`value_scored` over the first alone, both weighted where the case has a weight. The interval is that of `value`,
by the declared range of the metric; it is unknown for equal values of a metric without one. Cases that depend on
each other are clusters (runner.metrics.clusters). NaN and infinities are no numbers: such a metric is unscored.
A metric whose cases can be undecided has `undecided` = their number, and `if_lowest` and `if_highest` = the mean if all
of them had the lowest, or the highest, value of the range.

Rows are read one at a time and put into columns BLOCK at a time; 13 bytes stay in memory for each case and metric that
applies.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.metrics import statistics
from runner.metrics.clusters import AUTO, Clusters, cluster_key, key_number
from runner.metrics.metric import Catalogue
from runner.records import Estimate, Row

Floats = NDArray[np.float64]

BLOCK = 512  # rows
MOST_KNOWN = 20_000  # estimates that are kept for other runs, some 300 bytes each
ESTIMATE = tuple(entry.name for entry in fields(Estimate))
COST = ("requests", "input_tokens", "output_tokens", "usd")
_UNSCORED, _COUNTED_FAILURE, _SCORED = range(3)

Rows = Iterable[Row | Mapping[str, Any]]
Estimates = dict[str, dict[str, float | int | None]]
Known = MutableMapping[tuple[Any, ...], Estimate]  # by all that an estimate depends on


def aggregate(
    rows: Rows,
    catalogue: Catalogue,
    *,
    seed: int,
    total: int | None = None,
    resamples: int = statistics.RESAMPLES,
    shared_estimates: Known | None = None,
    cluster: str = AUTO,
) -> dict[str, Any]:
    """Sum up the rows of a run.

    Every metric that a row names appears. Those with a `/` in the name (legs of a fusion, chunks) are not sliced.
    `cases.unscored` counts cases that ended well but name a metric in `unscored`.

    Args:
        rows: in case order; read once.
        catalogue: knows how summaries call what a row names.
        seed: of the intervals.
        total: the number of cases that there should be (default: all are there); the rest is pending.
        resamples: of a bootstrap.
        shared_estimates: estimates of other runs, to which those of this one are added; equal values share an estimate.
        cluster: what makes cases depend on each other (runner.metrics.clusters).

    Returns:
        `cases`, `metrics`, `slices` and `counts` of summary.json, and `clusters` where cases depend on each other: the
        `field` that they go by (None for several), their number `n`, the number of cases that belong to none, and
        `widening`, the factor by which they make the interval of the first metric wider.
    """
    table = _Table(catalogue, cluster)
    for row in rows:
        table.add(row)
    table.put_waiting()
    estimates = _Estimator(table, seed, resamples, {} if shared_estimates is None else shared_estimates)
    clusters = estimates.clusters_record()
    return {
        "cases": table.case_counts(total),
        **({"clusters": clusters} if clusters else {}),
        "metrics": estimates.over(range(table.n_rows), legs=True),
        "slices": {
            kind: {value: estimates.over(members) for value, members in sorted(values.items())}
            for kind, values in table.slices.items()
        },
        "counts": {label: dict(sorted(counts.items())) for label, counts in sorted(table.counts.items())},
    }


def latency(rows: Rows) -> dict[str, dict[str, float | int | None]]:
    """Percentiles of latency. A whole case counts when it ended well and every stage of it was live.

    Args:
        rows: of the journal.

    Returns:
        `{stage: {"p50_ms", "p95_ms", "n"}}` over live timings, and `case` over whole cases. Where some needed a second
        attempt, also their number `n_repeated` and `p95_repeated_ms`, over the live ones and these with all attempts.
    """
    times = Times()
    for row in rows:
        times.add(row)
    return times.percentiles()


class Times:
    """Live timings of rows as they pass, and those of what needed a second attempt."""

    def __init__(self) -> None:
        self._times: dict[str, array[float]] = {"case": array("d")}
        self._repeated: defaultdict[str, array[float]] = defaultdict(lambda: array("d"))

    def add(self, row: Row | Mapping[str, Any]) -> None:
        """Count a row."""
        all_live, all_sent, more_ms = True, True, 0.0
        times, field_of = self._times, _reader(row)
        for stage, timing in (field_of("timings") or {}).items():
            part_of = _reader(timing)
            ms, is_live = part_of("ms"), part_of("live")
            if is_live is False:
                all_live, repeated_ms = False, part_of("repeated_ms")
                if repeated_ms is None or ms is None:
                    all_sent = False
                else:
                    self._repeated[stage].append(repeated_ms)
                    more_ms += repeated_ms - ms
            elif ms is not None:
                if stage not in times:
                    times[stage] = array("d")
                times[stage].append(ms)
        whole = field_of("latency_ms")
        if whole is None or (field_of("status") or "ok") != "ok":
            return
        if all_live:
            times["case"].append(whole)
        elif all_sent:
            self._repeated["case"].append(whole + more_ms)

    def percentiles(self) -> dict[str, dict[str, float | int | None]]:
        """The percentiles by stage."""
        stages = sorted({*self._times, *self._repeated})
        return {stage: self._of_stage(stage) for stage in stages}

    def _of_stage(self, stage: str) -> dict[str, float | int | None]:
        times, repeated = self._times.get(stage, array("d")), self._repeated.get(stage)
        if not repeated:
            return _percentiles(times)
        (p95_ms,) = statistics.percentiles(times + repeated, (95,))
        return {**_percentiles(times), "n_repeated": len(repeated), "p95_repeated_ms": p95_ms}


def cost(rows: Rows) -> dict[str, Any]:
    """The cost of the requests of completed cases, each counted once, live or from the cache.

    Args:
        rows: of the journal; their order changes nothing.

    Returns:
        `{"cases": n, "roles": {role: {"requests", "input_tokens", "output_tokens", "usd"}}}`, `usd` None where a price
        is unknown; empty where no model was called.
    """
    costs = Costs()
    for row in rows:
        costs.add(row)
    return costs.sums()


class Costs:
    """Sums the cost of the requests of rows, one row at a time."""

    def __init__(self) -> None:
        self._n = 0
        self._numbers: defaultdict[str, list[list[Any]]] = defaultdict(list)

    def add(self, row: Row | Mapping[str, Any]) -> None:
        """Count a row."""
        field_of = _reader(row)
        if (field_of("status") or "ok") == "ok":
            self._n += 1
            for role, spent in (field_of("cost") or {}).items():
                self._numbers[role].append(list(map(_reader(spent), COST)))

    def sums(self) -> dict[str, Any]:
        """The sums by role."""
        sums = {role: map(_total, zip(*self._numbers[role], strict=True)) for role in sorted(self._numbers)}
        roles = {role: dict(zip(COST, totals, strict=True)) for role, totals in sums.items()}
        return {"cases": self._n, "roles": roles} if roles else {}


def _total(numbers: Sequence[float | None]) -> float | int | None:
    known_numbers = [number for number in numbers if number is not None]
    if len(known_numbers) < len(numbers):
        return None
    return sum(known_numbers) if all(isinstance(number, int) for number in known_numbers) else math.fsum(known_numbers)


def _percentiles(times: Sequence[float]) -> dict[str, float | int | None]:
    p50, p95 = statistics.percentiles(times, (50, 95))
    return {"p50_ms": p50, "p95_ms": p95, "n": len(times)}


def _reader(record: Any) -> Callable[[str], Any]:
    """A function from the name of a field to its value, of a record or of its JSON form; None where it is absent."""
    if type(record) is dict or isinstance(record, Mapping):  # nearly all are, and the other question takes long
        return record.get
    return partial(getattr, record)


@dataclass(slots=True)
class _Column:
    """One metric over the rows to which it applies. `weights` has the entries whose weight is not 1."""

    rows: array[int] = field(default_factory=lambda: array("I"))
    values: array[float] = field(default_factory=lambda: array("d"))
    states: bytearray = field(default_factory=bytearray)
    weights: dict[int, float] = field(default_factory=dict)

    def put(self, part: _Part) -> None:
        """Behind what is there."""
        for place in np.flatnonzero(part.weights != 1.0).tolist():
            self.weights[len(self.rows) + place] = float(part.weights[place])
        self.rows.frombytes(part.rows.tobytes())
        self.values.frombytes(part.values.tobytes())
        self.states += part.states.tobytes()


@dataclass(frozen=True, slots=True)
class _Part:
    """One metric in a block: its rows in their order, and the value, state and weight of each."""

    rows: NDArray[np.uint32]
    values: Floats
    states: NDArray[np.uint8]
    weights: Floats

    @classmethod
    def of(cls, parts: Sequence[_Part]) -> _Part:
        """Several as one."""
        if len(parts) == 1:
            return parts[0]
        order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
        columns = zip(*((part.rows, part.values, part.states, part.weights) for part in parts), strict=True)
        return cls(*(np.concatenate(column)[order] for column in columns))


@dataclass(slots=True)
class _RowGroup:
    """Rows of a block that name the same metrics. `unscored` and `weights`: (row, name) of what few rows have."""

    rows: list[int] = field(default_factory=list)
    values: list[tuple[float | None, ...]] = field(default_factory=list)
    unscored: list[tuple[int, str]] = field(default_factory=list)
    weights: list[tuple[int, str, float]] = field(default_factory=list)

    def parts(self, names: Sequence[str]) -> list[_Part]:
        """The part of each metric, without the rows to which it does not apply."""
        place_of = {name: place for place, name in enumerate(names)}
        rows, values = np.array(self.rows, dtype=np.uint32), np.array(self.values, dtype=np.float64)
        unscored, weights = np.zeros(values.shape, dtype=bool), np.ones(values.shape)
        for row, name in self.unscored:
            unscored[row, place_of[name]] = True
        for row, name, weight in self.weights:
            weights[row, place_of[name]] = weight
        is_number = np.isfinite(values)
        applies = is_number | unscored
        for row, place in np.argwhere(~applies).tolist():
            applies[row, place] = self.values[row][place] is not None
        applies &= weights > 0
        states = np.where(is_number, np.where(unscored, _COUNTED_FAILURE, _SCORED), _UNSCORED).astype(np.uint8)
        values[~is_number] = 0.0
        masks = [applies[:, place] for place in range(len(names))]
        return [
            _Part(rows[here], values[here, place], states[here, place], weights[here, place])
            for place, here in enumerate(masks)
        ]


class _Table:
    """The columns of all rows so far. `put_waiting` comes after the last of them."""

    def __init__(self, catalogue: Catalogue, cluster: str) -> None:
        self.catalogue, self._cluster = catalogue, cluster
        self.cluster_fields: set[str] = set()
        self.cluster_numbers = array("Q")
        self._names = catalogue.summary_names
        self.n_rows = 0
        self.n_unscored = 0
        self.statuses: Counter[str] = Counter()
        self.columns: defaultdict[str, _Column] = defaultdict(_Column)
        self._labels: Counter[tuple[tuple[str, str], ...]] = Counter()
        self._groups: defaultdict[tuple[Any, ...], array[int]] = defaultdict(lambda: array("I"))  # rows of equal slices
        self._waiting: defaultdict[tuple[str, ...], _RowGroup] = defaultdict(_RowGroup)  # by the names of rows
        self._decided_by = [(metric.name, metric.decided_by) for metric in catalogue.metrics if metric.decided_by]
        self.undecided: dict[str, array[int]] = {}  # rows

    def add(self, row: Row | Mapping[str, Any]) -> None:
        field_of = _reader(row)
        metrics, unscored, weights = field_of("metrics") or {}, field_of("unscored"), field_of("weights")
        if unscored:
            metrics = dict.fromkeys((*metrics, *unscored)) | metrics
        alike = self._waiting[tuple(metrics)]
        place = len(alike.rows)
        alike.rows.append(self.n_rows)
        alike.values.append(tuple(metrics.values()))
        if unscored:
            alike.unscored += [(place, name) for name in unscored]
        if weights:
            alike.weights += [(place, name, weight) for name, weight in weights.items() if name in metrics]
        labels = field_of("labels") or {}
        self._labels[tuple(labels.items())] += 1
        for name, label in self._decided_by:
            if name in metrics:
                rows = self.undecided.setdefault(self._names.get(name, name), array("I"))
                if metrics[name] is None and label in labels and name not in (unscored or ()):
                    rows.append(self.n_rows)
        self._groups[field_of("language"), field_of("difficulty"), *(field_of("tags") or ())].append(self.n_rows)
        key = cluster_key(field_of("clusters") or {}, field_of("tags") or (), self._cluster)
        self.cluster_fields |= set() if key is None else {key.partition(":")[0]}
        self.cluster_numbers.append(key_number(key))
        status = field_of("status") or "ok"
        self.statuses[status] += 1
        self.n_unscored += status == "ok" and bool(unscored)
        self.n_rows += 1
        if self.n_rows % BLOCK == 0:
            self.put_waiting()

    def put_waiting(self) -> None:
        """Put the rows of a block into the columns."""
        parts: dict[str, list[_Part]] = {}
        for names, alike in self._waiting.items():
            for name, part in zip(names, alike.parts(names), strict=True):
                parts.setdefault(self._names.get(name, name), []).append(part)
        self._waiting.clear()
        for name, found in parts.items():
            self.columns[name].put(_Part.of(found))

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """Label -> category -> number of rows."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for labels, n in self._labels.items():
            for label, category in labels:
                counts[label][category] += n
        return counts

    @property
    def slices(self) -> dict[str, dict[str, array[int]]]:
        """Kind -> value -> rows, each once, in no order."""
        slices: dict[str, dict[str, array[int]]] = {"language": {}, "difficulty": {}, "tag": {}}
        for (language, difficulty, *tags), rows in self._groups.items():
            members = [
                ("language", language),
                ("difficulty", difficulty),
                *(("tag", tag) for tag in dict.fromkeys(tags)),
            ]
            for kind, value in members:
                if value is not None:
                    slices[kind].setdefault(value, array("I")).extend(rows)
        return slices

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
        """The estimate without its interval."""
        scored_weights = None if self.weights is None else self.weights[self.scored]
        return Estimate(
            value=statistics.mean(self.values, self.weights),
            n=self.n,
            n_scored=int(self.scored.sum()),
            ci_low=None,
            ci_high=None,
            value_scored=statistics.mean(self.values[self.scored], scored_weights),
        )


@dataclass(frozen=True, slots=True)
class _Members:
    """The rows of a column that belong to a set of cases: how many the metric applies to, which have a number (bool
    [n_rows of the column]), the cases of these, and which of them are scored."""

    n: int
    has_number: NDArray[np.bool_]
    cases: NDArray[np.uint32]
    scored: NDArray[np.bool_]


class _Estimator:
    """Estimates over any set of rows. The same set is worked out once: tags often cover the whole data set. So are
    metrics with the same values, of which few cases have many."""

    def __init__(self, table: _Table, seed: int, resamples: int, known_estimates: Known) -> None:
        self._table = table
        self._seed = seed
        self._resamples = resamples
        self._known_estimates = known_estimates
        self._estimates_by_mask: dict[bytes, Estimates] = {}
        self._clusters = Clusters.of_numbers(np.frombuffer(table.cluster_numbers, dtype=np.uint64))
        alike: dict[tuple[bytes, bytes], tuple[bytes, bytes]] = {}
        self._alike: dict[str, tuple[bytes, bytes]] = {}
        self._column_keys: dict[str, tuple[Any, ...]] = {}
        for name, column in table.columns.items():
            key = column.rows.tobytes(), bytes(column.states)
            self._alike[name] = alike.setdefault(key, key)
            self._column_keys[name] = self._column_key(name, column)
        self._members: dict[tuple[bytes, bytes], _Members] = {}  # of the set of cases that is worked out

    def over(self, members: Sequence[int], *, legs: bool = False) -> Estimates:
        mask = np.zeros(self._table.n_rows, dtype=bool)
        mask[np.asarray(members, dtype=np.intp)] = True
        key = mask.tobytes()
        if key not in self._estimates_by_mask:
            self._estimates_by_mask[key] = self._estimates(
                mask, [name for name in self._table.columns if legs or "/" not in name]
            )
        return {name: estimate for name, estimate in self._estimates_by_mask[key].items() if legs or "/" not in name}

    def _with_undecided(self, name: str, estimate: dict[str, float | int | None], mask: NDArray[np.bool_]) -> None:
        """Add the undecided cases to the estimate of a metric that can have some."""
        rows = self._table.undecided.get(name)
        if rows is None:
            return
        n_undecided = int(mask[np.frombuffer(rows, dtype=np.uint32)].sum()) if rows else 0
        value, n_decided = estimate["value_scored"], int(estimate["n_scored"] or 0)
        total = n_decided + n_undecided
        ends = self._table.catalogue.variant(name).range
        means = [((value or 0.0) * n_decided + end * n_undecided) / total if total else None for end in ends]
        estimate |= {
            "n": int(estimate["n"] or 0) + n_undecided,
            "undecided": n_undecided,
            "if_lowest": means[0],
            "if_highest": means[1],
        }

    def _estimates(self, mask: NDArray[np.bool_], names: Sequence[str]) -> Estimates:
        keys: dict[str, tuple[Any, ...]] = {}
        self._members.clear()
        groups: dict[tuple[bytes, bool], list[str]] = defaultdict(list)
        by_key: dict[tuple[Any, ...], Estimate | None] = {}
        set_key = blake2b(mask.tobytes(), digest_size=16).digest()
        for name in names:
            known = self._known_estimates.get((set_key, *self._column_keys[name]))
            if known is not None:
                keys[name] = (set_key, *self._column_keys[name])
                by_key[keys[name]] = known
                continue
            sample = self._sample(name, mask)
            key = keys[name] = self._key(name, sample)
            if key not in by_key:
                by_key[key] = self._known_estimates.get(key)
                if by_key[key] is None:
                    groups[sample.cases.tobytes(), sample.weights is None].append(name)
        for group in groups.values():
            by_key |= {keys[name]: estimate for name, estimate in self._group(group, mask).items()}
        if len(self._known_estimates) > MOST_KNOWN:
            self._known_estimates.clear()
        estimates = {key: estimate for key, estimate in by_key.items() if estimate is not None}
        self._known_estimates.update(estimates)
        self._known_estimates.update({(set_key, *self._column_keys[name]): estimates[keys[name]] for name in names})
        by_name = {name: {field: getattr(estimates[keys[name]], field) for field in ESTIMATE} for name in names}
        for name in by_name:
            self._with_undecided(name, by_name[name], mask)
        return by_name

    def _key(self, name: str, sample: _Sample) -> tuple[Any, ...]:
        """All that the estimate depends on; resamples depend on the number of cases only."""
        digest = blake2b(sample.values.tobytes(), digest_size=16)
        digest.update(sample.scored.tobytes())
        digest.update(b"" if sample.weights is None else sample.weights.tobytes())
        digest.update(b"" if self._clusters is None else self._clusters.codes[sample.cases].tobytes())
        shape = len(sample.values), sample.n, sample.weights is None, self._seed, self._resamples
        return (digest.digest(), *shape, *self._table.catalogue.variant(name).range)

    def _column_key(self, name: str, column: _Column) -> tuple[Any, ...]:
        """All that the estimates of a column depend on beside the set of cases."""
        digest = blake2b(column.values, digest_size=16)
        clusters = b"" if self._clusters is None else self._clusters.key
        for part in (*self._alike[name], repr(column.weights).encode() if column.weights else b"", clusters):
            digest.update(b"%d," % len(part) + part)
        return (digest.digest(), self._seed, self._resamples, *self._table.catalogue.variant(name).range)

    def _group(self, names: Sequence[str], mask: NDArray[np.bool_]) -> dict[str, Estimate]:
        """Estimates of metrics that have numbers for the same cases, so that they can share resamples. The numbers
        of one group are in memory at a time."""
        estimates, values, weights = [], [], []
        clusters: Clusters | None = None
        for name in names:
            sample = self._sample(name, mask)
            clusters = self._clusters_of(sample)
            estimates.append(sample.estimate())
            values.append(sample.values)
            weights += _listed(sample.weights)
        if len(values[0]) == 0:
            return dict(zip(names, estimates, strict=True))
        intervals = self._intervals(names, values, weights, clusters).tolist()
        return {
            name: estimate if math.isnan(low) else replace(estimate, ci_low=low, ci_high=high)
            for name, estimate, (low, high) in zip(names, estimates, intervals, strict=True)
        }

    def _clusters_of(self, sample: _Sample) -> Clusters | None:
        return None if self._clusters is None else self._clusters.of_cases(sample.cases)

    def clusters_record(self) -> dict[str, Any]:
        """How the cases depend on each other; empty where they do not."""
        if self._clusters is None:
            return {}
        numbers, fields = np.frombuffer(self._table.cluster_numbers, dtype=np.uint64), self._table.cluster_fields
        return {
            "field": next(iter(fields)) if len(fields) == 1 else None,
            "n": len(np.unique(numbers[numbers > 0])),
            "n_alone": int((numbers == 0).sum()),
            "widening": self._widening(),
        }

    def _widening(self) -> float | None:
        """The width of the interval of the first metric over that of as many independent cases; None where there is no
        interval."""
        every = np.ones(self._table.n_rows, dtype=bool)
        for name in self._table.catalogue.in_order(self._table.columns):
            sample = self._sample(name, every)
            if len(sample.values) == 0:
                continue
            widths = [
                float(np.ptp(self._intervals([name], [sample.values], _listed(sample.weights), clusters)))
                for clusters in (self._clusters_of(sample), None)
            ]
            return widths[0] / widths[1] if widths[1] > 0 else None
        return None

    def _intervals(
        self, names: Sequence[str], values: list[Floats], weights: list[Floats], clusters: Clusters | None
    ) -> Floats:
        """The intervals of columns; the columns are released."""
        side_by_side = np.column_stack(values), np.column_stack(weights) if weights else None
        values.clear()
        weights.clear()
        ranges = np.array([self._table.catalogue.variant(name).range for name in names])
        return statistics.mean_intervals(
            *side_by_side, ranges=ranges, seed=self._seed, resamples=self._resamples, clusters=clusters
        )

    def _sample(self, name: str, mask: NDArray[np.bool_]) -> _Sample:
        column, members = self._table.columns[name], self._members_of(name, mask)
        weights = None
        if column.weights:
            weights = np.ones(len(column.rows))
            weights[list(column.weights)] = list(column.weights.values())
        return _Sample(
            n=members.n,
            cases=members.cases,
            values=np.frombuffer(column.values, dtype=np.float64)[members.has_number],
            scored=members.scored,
            weights=None if weights is None else weights[members.has_number],
        )

    def _members_of(self, name: str, mask: NDArray[np.bool_]) -> _Members:
        """The members of each metric; most metrics apply to the same rows and share them."""
        key = self._alike[name]
        if key not in self._members:
            rows, states = np.frombuffer(key[0], dtype=np.uint32), np.frombuffer(key[1], dtype=np.uint8)
            applies = mask[rows]
            has_number = applies & (states != _UNSCORED)
            is_scored = states[has_number] == _SCORED
            self._members[key] = _Members(int(applies.sum()), has_number, rows[has_number], is_scored)
        return self._members[key]


def _listed(weights: Floats | None) -> list[Floats]:
    return [] if weights is None else [weights]
