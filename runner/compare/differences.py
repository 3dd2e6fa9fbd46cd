"""A metric over pairs of cases.

A case counts where both runs have a number. Where one run has none although the metric applies (the case or its judge
failed), the pair is left out and counted. Where the metric applies in one run only, as unanswerable precision applies
to questions that a run declines, the case has weight 0 in the other run. An undecided case counts as the middle of the
range (runner.compare.undecided).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from runner.compare.anchoring import Anchoring, anchor_snapshots
from runner.compare.pairing import Pairing, Places, pair
from runner.compare.snapshots import Bools, Cases, Snapshot
from runner.compare.undecided import decided_differently, undecided, with_undecided
from runner.metrics import paired
from runner.metrics.catalogue import merge_catalogues
from runner.metrics.clusters import Clusters
from runner.metrics.metric import MIN_DECIDED, Catalogue, Metric
from runner.metrics.paired import PairedResult
from runner.metrics.statistics import Floats
from runner.metrics.swaps import mcnemar_p

CONFIDENCE = 1.96  # standard errors in half a 95 % interval


@dataclass(frozen=True, slots=True)
class McNemar:
    """For a metric of 0 and 1: the numbers of cases that only the baseline, and only the candidate, has right."""

    lost: int
    won: int
    p: float


@dataclass(frozen=True, slots=True)
class Difference:
    """`numbers` is None where no pair counts. `judge_noise`: half the 95 % interval of the difference of the means if
    the same answers were judged again; None where no judge voted several times. `undecided_…`: cases of the pairs that
    count as the middle of the range."""

    metric: str
    left_out: int
    failed_baseline: int
    failed_candidate: int
    numbers: PairedResult | None
    mcnemar: McNemar | None = None
    judge_noise: float | None = None
    undecided_baseline: int = 0
    undecided_candidate: int = 0

    @property
    def is_undecided(self) -> bool:
        """Whether fewer than half of the cases of one of the runs are decided, so that nothing follows from it."""
        most = max(self.undecided_baseline, self.undecided_candidate)
        return self.numbers is not None and most > (1 - MIN_DECIDED) * self.numbers.n


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Two snapshots and their pairs; computes everything over pairs, cached for each set of pairs. `strict`: whether
    another corpus or test set makes metrics incomparable (runner.compare.comparability)."""

    baseline: Snapshot
    candidate: Snapshot
    pairing: Pairing
    seed: int
    anchored: Anchoring | None = None
    strict: bool = True
    _computed: dict[tuple[str, bytes], Difference] = field(default_factory=dict)

    @classmethod
    def of(cls, baseline: Snapshot, candidate: Snapshot, *, seed: int, strict: bool = True) -> PairedRuns:
        pairing = pair(baseline.cases, candidate.cases)
        return cls(baseline, candidate, pairing, seed, anchor_snapshots(baseline, candidate, pairing), strict)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The metrics that the runs declare; of two declarations that of the candidate."""
        return merge_catalogues([self.candidate.catalogue, self.baseline.catalogue])

    def decided_differently(self, metric: str) -> tuple[Bools, Bools]:
        """bool [n_pairs] each: pairs whose rules of decision could differ, and those whose rules do."""
        record = self.catalogue.variant(metric).metric
        return decided_differently(self.pairing, self.baseline.cases, self.candidate.cases, record)

    @cached_property
    def cluster_keys(self) -> Sequence[str | None]:
        """What each pair shares with others, of the candidate where it says so; empty where no run does."""
        for run, places in ((self.candidate, self.pairing.candidate), (self.baseline, self.pairing.baseline)):
            if run.cases.cluster:
                return [run.cases.cluster[place] for place in places.tolist()]
        return []

    @cached_property
    def clusters(self) -> Clusters | None:
        """The clusters of the pairs; None where all are independent."""
        return Clusters.of(self.cluster_keys)

    def differences(self, metrics: Iterable[str], pairs_mask: Bools | None = None) -> dict[str, Difference]:
        """The differences over all pairs, or those of `pairs_mask`, bool [n_pairs]. Metrics over the same pairs share
        their resamples."""
        mask = np.ones(len(self.pairing), dtype=bool) if pairs_mask is None else pairs_mask
        names, key = list(metrics), mask.tobytes()
        found = self._differences([name for name in names if (name, key) not in self._computed], mask)
        self._computed.update({(name, key): difference for name, difference in found.items()})
        return {name: self._computed[name, key] for name in names}

    def _differences(self, metrics: Sequence[str], mask: Bools) -> dict[str, Difference]:
        columns = {name: self._column(name, mask) for name in metrics}
        names_by_mask: dict[bytes, list[str]] = defaultdict(list)
        differences: dict[str, Difference] = {}
        for name, column in columns.items():
            if column.is_weighted:
                differences[name] = column.difference(
                    name, self._weighted_result(column, self.catalogue.variant(name).range)
                )
            elif not column.counts.any():
                differences[name] = column.difference(name, None)
            else:
                names_by_mask[column.counts.tobytes()].append(name)
        for names in names_by_mask.values():
            ranges = np.array([self.catalogue.variant(name).range for name in names])
            numbers = self._unweighted_results([columns[name] for name in names], ranges)
            differences |= {
                name: columns[name].difference(name, each) for name, each in zip(names, numbers, strict=True)
            }
        return differences

    def values(self, metric: str) -> tuple[Floats, Floats]:
        """The values of the pairs, float64 [n_pairs] for each run, NaN where there is none."""
        column = self._column(metric, np.ones(len(self.pairing), dtype=bool))
        return column.baseline.values, column.candidate.values

    def _column(self, name: str, mask: Bools) -> _Column:
        instead = None if self.anchored is None else self.anchored.values.get(name)
        sides = ((self.baseline, self.pairing.baseline), (self.candidate, self.pairing.candidate))
        baseline, candidate = (
            _Half.of(
                run.cases,
                places,
                name,
                None if instead is None else instead[side],
                self.catalogue.variant(name).metric,
            )
            for side, (run, places) in enumerate(sides)
        )
        applies = mask & (baseline.has | candidate.has | baseline.flagged | candidate.flagged)
        left_out = applies & (baseline.is_missing | candidate.is_missing)
        return _Column(baseline, candidate, applies, left_out)

    def _unweighted_results(self, columns: Sequence[_Column], ranges: Floats) -> list[PairedResult]:
        counts = columns[0].counts
        one = np.column_stack([column.baseline.values[counts] for column in columns])
        other = np.column_stack([column.candidate.values[counts] for column in columns])
        inside = None if self.clusters is None else self.clusters.of_cases(counts)
        return paired.compare_means(one, other, seed=self.seed, ranges=ranges, clusters=inside)

    def _weighted_result(self, column: _Column, ends: tuple[float, float]) -> PairedResult | None:
        halves = [column.baseline, column.candidate]
        values = [np.nan_to_num(half.values[column.used]) for half in halves]
        weights = [half.weights[column.used] for half in halves]
        inside = None if self.clusters is None else self.clusters.of_cases(column.used)
        return paired.compare_weighted(*values, *weights, seed=self.seed, ends=ends, clusters=inside)


@dataclass(frozen=True, eq=False)
class _Half:
    """A metric of one run over all pairs. The weight is 0 where there is no number."""

    values: Floats
    weights: Floats
    noise: Floats
    has: Bools
    flagged: Bools  # the metric applies and could not be scored
    failed: Bools  # the case failed, and its row may not say which metrics apply
    undecided: Bools

    @classmethod
    def of(cls, cases: Cases, places: Places, name: str, instead: Floats | None, metric: Metric | None) -> _Half:
        """`instead`: values of the pairs that replace those of the cases."""
        n = len(cases)
        values = with_undecided(cases, metric, name)[places] if name in cases.values else np.full(len(places), np.nan)
        values = values if instead is None else instead
        has = ~np.isnan(values)
        weights = cases.weights.get(name, np.ones(n))[places]
        return cls(
            values=values,
            weights=np.where(has, weights, 0.0),
            noise=cases.noise.get(name, np.full(n, np.nan))[places],
            has=has,
            flagged=cases.unscored.get(name, np.zeros(n, dtype=bool))[places],
            failed=cases.failed[places],
            undecided=undecided(cases, metric, name)[places],
        )

    @property
    def is_missing(self) -> Bools:
        return ~self.has & (self.flagged | self.failed)


@dataclass(frozen=True, eq=False)
class _Column:
    """A metric of both runs over all pairs."""

    baseline: _Half
    candidate: _Half
    applies: Bools
    left_out: Bools

    @property
    def used(self) -> Bools:
        return self.applies & ~self.left_out & ((self.baseline.weights > 0) | (self.candidate.weights > 0))

    @property
    def counts(self) -> Bools:
        """bool [n_pairs]: pairs with two numbers."""
        return self.used & self.baseline.has & self.candidate.has

    @property
    def is_weighted(self) -> bool:
        one, other = self.baseline.weights[self.used], self.candidate.weights[self.used]
        return bool(np.any(one != other) or np.any(one != 1))

    def difference(self, name: str, numbers: PairedResult | None) -> Difference:
        baseline, candidate = self.baseline, self.candidate
        return Difference(
            metric=name,
            left_out=int(self.left_out.sum()),
            failed_baseline=int((self.applies & (baseline.flagged | baseline.is_missing)).sum()),
            failed_candidate=int((self.applies & (candidate.flagged | candidate.is_missing)).sum()),
            numbers=numbers,
            mcnemar=None if numbers is None or self.is_weighted else self._mcnemar(),
            judge_noise=self._judge_noise(),
            undecided_baseline=int(baseline.undecided[self.counts].sum()),
            undecided_candidate=int(candidate.undecided[self.counts].sum()),
        )

    def _mcnemar(self) -> McNemar | None:
        before, after = self.baseline.values[self.counts], self.candidate.values[self.counts]
        if not all(np.isin(values, (0.0, 1.0)).all() for values in (before, after)):
            return None
        lost, won = int((before > after).sum()), int((before < after).sum())
        return McNemar(lost, won, mcnemar_p(lost, won))

    def _judge_noise(self) -> float | None:
        """The standard error of a mean of n scores is the root of their summed squared errors over n."""
        errors = self.baseline.noise[self.counts] ** 2 + self.candidate.noise[self.counts] ** 2
        known_errors = errors[~np.isnan(errors)]
        if len(known_errors) == 0:
            return None
        return CONFIDENCE * float(np.sqrt(known_errors.mean() / len(errors)))
