"""Compares two runs, or several candidates with one baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from runner.compare import comparability, expense
from runner.compare.anchoring import Anchoring
from runner.compare.comparability import Reason, comparable_pairs
from runner.compare.differences import Difference, PairedRuns
from runner.compare.expense import Expense
from runner.compare.flips import Flips, flips_of
from runner.compare.gate import Gate, gate_of
from runner.compare.pairing import Pairing
from runner.compare.regression import Regression, margins_of
from runner.compare.sides import Side
from runner.compare.slices import slices_of
from runner.compare.snapshots import Bools, Snapshot
from runner.compare.texts import with_texts
from runner.compare.verdicts import (
    FAMILIES,
    Adjusted,
    Family,
    Overall,
    Role,
    Verdict,
    adjust,
    holds,
    main_metrics,
    overall,
    verdict,
)
from runner.metrics.clusters import AUTO, field_of_keys
from runner.metrics.metric import Catalogue
from runner.metrics.paired import PairedResult
from runner.system.folder import lines
from runner.tracking.entry import NOT_PARAMS, flatten


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """A metric of both runs. `caveats`: why it is not comparable, where it was compared anyway."""

    difference: Difference
    numbers: PairedResult
    role: Role
    adjusted: Adjusted
    verdict: Verdict | None
    caveats: tuple[Reason, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether the difference is significant, in either direction."""
        return self.adjusted.is_significant

    @property
    def detectable(self) -> float | None:
        """The smallest difference that gets a verdict in four of five tries; None where even the largest does not."""
        return self.numbers.detectable(self.adjusted.tests)


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A main metric over the pairs of one slice."""

    dimension: str
    value: str
    compared: ComparedMetric


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """What makes cases depend on each other: the setting `cluster` of both runs, of which that of the candidate counts,
    the `field` that the clusters go by (None for several, and for none), their number among the pairs, and the number
    of pairs that belong to none."""

    baseline: str
    candidate: str
    field: str | None
    n: int
    n_alone: int

    @classmethod
    def of(cls, runs: PairedRuns) -> ClusterChoice:
        """The choice of two runs."""
        baseline, candidate = (str(run.config.get("cluster", AUTO)) for run in (runs.baseline, runs.candidate))
        keys = [key for key in runs.cluster_keys if key is not None]
        return cls(baseline, candidate, field_of_keys(keys), len(set(keys)), len(runs.pairing) - len(keys))


@dataclass(frozen=True, slots=True)
class NotComparable:
    """A metric that at least one of the runs has."""

    metric: str
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The comparison of two runs. `family`: the number of tests of main metrics beside the first
    one, which were adjusted together."""

    baseline: Side
    candidate: Side
    pairing: Pairing
    anchored: Anchoring | None
    verdict: Overall
    metrics: Sequence[ComparedMetric]
    not_comparable: Sequence[NotComparable]
    config_difference: Sequence[Setting]
    slices: Sequence[SliceRow]
    latency: Sequence[Expense]
    cost: Sequence[Expense]
    flips: Flips
    gate: Gate
    margin: float
    family: int
    catalogue: Catalogue
    allow_incomparable: bool
    strict: bool
    corpus: CorpusChange | None
    clusters: ClusterChoice

    @property
    def main(self) -> list[ComparedMetric]:
        """The main metrics, in their order."""
        return [compared for compared in self.metrics if compared.role == "main"]

    @property
    def was_measured_differently(self) -> bool:
        """Whether a metric, or all, are incomparable for a reason that the experiment did not vary."""
        is_grave = any(reason.is_grave for entry in self.not_comparable for reason in entry.reasons)
        return is_grave or self.verdict == "not_comparable"

    def exit_code(self, *, fail_on_regression: bool) -> int:
        """The exit code: 5 for incomparable runs, 4 for a regression, else 0."""
        if self.was_measured_differently:
            return 5
        return 4 if fail_on_regression and self.gate.fired else 0


def compare(
    baseline: Side,
    candidate: Side,
    regression: Regression,
    *,
    seed: int,
    allow_incomparable: bool = False,
    strict: bool = False,
) -> Comparison:
    """Compare one candidate with a baseline; arguments and errors are those of `compare_all`."""
    options = {"allow_incomparable": allow_incomparable, "strict": strict}
    return compare_all(baseline, [candidate], regression, seed=seed, **options)[0]


def compare_all(
    baseline: Side,
    candidates: Sequence[Side],
    regression: Regression,
    *,
    seed: int,
    allow_incomparable: bool,
    strict: bool = False,
) -> list[Comparison]:
    """Compare candidates with a baseline.

    Args:
        baseline: one run.
        candidates: the others.
        regression: the rules of the gate.
        seed: of intervals and tests.
        allow_incomparable: whether metrics that were measured differently are compared, too.
        strict: whether runs with other questions, labels or documents are not comparable.

    Returns:
        One comparison a candidate; p values are adjusted over all of them.

    Raises:
        InputError: a rule of the gate names a metric that no run has.
    """
    pairs = [_Numbers(baseline, candidate, seed, allow_incomparable, strict) for candidate in candidates]
    chances: list[dict[str, Adjusted]] = [{} for _ in pairs]
    tests = dict.fromkeys(FAMILIES, 0)
    for family in FAMILIES:
        places = [(number, name) for number, pair in enumerate(pairs) for name in pair.of_family(family)]
        numbers = [pairs[number].numbers[name] for number, name in places]
        for (number, name), adjusted in zip(places, adjust(numbers), strict=True):
            chances[number][name] = adjusted
        tests[family] = sum(pair.differs for pair in numbers)
    return [
        pair.comparison(regression, {**adjusted, **pair.restate(adjusted)}, tests["main"])
        for pair, adjusted in zip(pairs, chances, strict=True)
    ]


class _Numbers:
    """The results of one comparison before the adjustment over all comparisons."""

    def __init__(self, baseline: Side, candidate: Side, seed: int, allow_incomparable: bool, strict: bool) -> None:
        self._sides, self._seed, self._allow = (baseline, candidate), seed, allow_incomparable
        before, after = baseline.snapshot, candidate.snapshot
        self._runs = PairedRuns.of(before, after, seed=seed, strict=strict)
        names = dict.fromkeys([*after.metrics, *before.metrics])
        valued = {name for run in (before, after) for name in run.cases.values}
        self._reasons = {name: tuple(comparability.reasons(self._runs, name)) for name in names if name in valued}
        self._differences = self._compare_metrics(self._usable())
        self.numbers = {
            name: difference.numbers for name, difference in self._differences.items() if difference.numbers is not None
        }
        self.catalogue = self._runs.catalogue
        self.main = main_metrics(self.numbers, self.catalogue, self._reasons)

    def _usable(self) -> list[str]:
        """The metrics that are comparable, or compared anyway."""
        return [
            name
            for name, reasons in self._reasons.items()
            if all(reason.is_note or (self._allow and reason.is_grave) for reason in reasons)
        ]

    def _compare_metrics(self, names: Sequence[str], pairs_mask: Bools | None = None) -> dict[str, Difference]:
        """The differences of these metrics, in order, over the comparable pairs of `pairs_mask`."""
        names_by_mask: dict[bytes, list[str]] = {}
        masks = {name: comparable_pairs(self._runs, name, self._reasons[name]) for name in names}
        for name, mask in masks.items():
            names_by_mask.setdefault(mask.tobytes(), []).append(name)
        differences: dict[str, Difference] = {}
        for group in names_by_mask.values():
            mask = masks[group[0]]
            differences |= self._runs.differences(group, mask if pairs_mask is None else mask & pairs_mask)
        return {name: differences[name] for name in names}

    def of_family(self, family: Family) -> list[str]:
        return [name for name in self.numbers if family == ("first" if name in self.main[:1] else self._role(name))]

    def _role(self, name: str) -> Role:
        if name in self.main:
            return "main"
        return "leg" if "/" in name and not name.startswith("chunk/") else "other"

    def restate(self, adjusted: Mapping[str, Adjusted]) -> dict[str, Adjusted]:
        """p of metrics that equal a main metric here, as hit rate equals recall with one gold document: one test has
        one result."""
        main = {self.numbers[name]: adjusted[name] for name in reversed(self.main)}
        return {name: main[numbers] for name, numbers in self.numbers.items() if numbers in main}

    def comparison(self, regression: Regression, adjusted: Mapping[str, Adjusted], family: int) -> Comparison:
        baseline, candidate = self._runs.baseline, self._runs.candidate
        metrics = [
            self._compare(self._differences[name], numbers, adjusted[name], regression.margin)
            for name, numbers in self.numbers.items()
        ]
        latency, cost = expense.latencies(baseline, candidate, seed=self._seed), expense.costs(baseline, candidate)
        judged_metrics = [name for name in self.main if "judge" in candidate.depends.get(name, ())]
        rules = regression.within(margins_of(candidate.config))
        return Comparison(
            baseline=self._sides[0],
            candidate=self._sides[1],
            pairing=self._runs.pairing,
            anchored=self._runs.anchored,
            verdict=self._verdict(metrics, regression.margin),
            metrics=metrics,
            not_comparable=list(self._not_comparable()),
            config_difference=config_difference(baseline, candidate),
            slices=self._slices(regression.margin),
            latency=latency,
            cost=cost,
            flips=with_texts(flips_of(self._runs, self.main, judged_metrics), *self._sides),
            gate=gate_of(
                rules, self._runs, [*latency, *cost], adjusted, main=self.main, allow_incomparable=self._allow
            ),
            margin=regression.margin,
            family=family,
            catalogue=self.catalogue,
            allow_incomparable=self._allow,
            strict=self._runs.strict,
            corpus=corpus_change(*self._sides, self._runs.pairing),
            clusters=ClusterChoice.of(self._runs),
        )

    def _verdict(self, metrics: Sequence[ComparedMetric], margin: float) -> Overall:
        if self.numbers and not any(self.catalogue.direction(name) for name in self._reasons):
            return "not_judged"
        by_name = {each.difference.metric: each for each in metrics if each.role == "main" and each.verdict is not None}
        mains = [by_name[name] for name in self.main if name in by_name]
        first_holds = bool(mains) and holds(
            self.catalogue.variant(mains[0].difference.metric), mains[0].numbers, margin
        )
        return overall([each.verdict for each in mains if each.verdict is not None], first_holds=first_holds)

    def _compare(
        self, difference: Difference, numbers: PairedResult, adjusted: Adjusted, margin: float
    ) -> ComparedMetric:
        name = difference.metric
        metric_verdict = verdict(self.catalogue.variant(name), numbers, adjusted, margin)
        if metric_verdict is not None and difference.is_undecided:
            metric_verdict = "undecided"
        return ComparedMetric(difference, numbers, self._role(name), adjusted, metric_verdict, self._reasons[name])

    def _not_comparable(self) -> Iterator[NotComparable]:
        for name, reasons in self._reasons.items():
            if name not in self.numbers:
                yield NotComparable(name, reasons or (Reason("pairs"),))

    def _slices(self, margin: float) -> list[SliceRow]:
        """The main metrics by slice, adjusted over all slices."""
        slice_rows = [
            (dimension, value, difference, difference.numbers)
            for dimension, value, mask in slices_of(self._runs)
            for difference in self._compare_metrics(self.main, mask).values()
        ]
        scored = [(*row[:3], row[3]) for row in slice_rows if row[3] is not None]
        chances = adjust([numbers for *_, numbers in scored])
        return [
            SliceRow(dimension, value, self._compare(difference, numbers, adjusted, margin))
            for (dimension, value, difference, numbers), adjusted in zip(scored, chances, strict=True)
        ]


# --- what was set differently ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that differs, as texts; None where a run lacks it."""

    key: str
    baseline: str | None
    candidate: str | None


def config_difference(baseline: Snapshot, candidate: Snapshot) -> list[Setting]:
    """The settings that differ, chosen components first, then settings by dotted key; without folders, budgets and the
    like."""
    before, after = _choices(baseline), _choices(candidate)
    choices = _changed_settings(before, after)
    settings = _changed_settings(_settings(baseline.config), _settings(candidate.config))
    choice_keys = {f"{choice.key}._target_" for choice in choices}
    return [*choices, *(setting for setting in settings if setting.key not in choice_keys)]


def _changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> list[Setting]:
    keys = dict.fromkeys([*before, *after])
    return [Setting(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def _choices(snapshot: Snapshot) -> dict[str, str]:
    choices = snapshot.run.get("choices") or {}
    return {str(name): str(choice) for name, choice in choices.items() if name not in (*NOT_PARAMS, "experiment")}


def _settings(config: Mapping[str, Any]) -> dict[str, str]:
    return dict(flatten({name: value for name, value in config.items() if name not in NOT_PARAMS}, config))


NAMED = 1_000  # cases that are named


@dataclass(frozen=True, slots=True)
class CorpusChange:
    """Changes between two corpora. Counts are None where a snapshot has no digests of documents. `gold` and
    `retrieved`: cases of both runs with a changed gold or retrieved document, by their ids in the candidate; None where
    the rows of a run are missing."""

    added: int | None = None
    removed: int | None = None
    edited: int | None = None
    gold: tuple[str, ...] | None = None
    retrieved: tuple[str, ...] | None = None


def corpus_change(baseline: Side, candidate: Side, pairing: Pairing) -> CorpusChange | None:
    """Args:
        baseline: one run.
        candidate: the other.
        pairing: of their cases.

    Returns:
        Which documents changed; None where both runs have the same.
    """
    before, after = (side.snapshot for side in (baseline, candidate))
    if before.identity.get("documents") == after.identity.get("documents"):
        return None
    if not before.documents or not after.documents:
        return CorpusChange()
    edited = {
        id for id in before.documents.keys() & after.documents.keys() if before.documents[id] != after.documents[id]
    }
    removed, added = before.documents.keys() - after.documents.keys(), after.documents.keys() - before.documents.keys()
    counts = len(added), len(removed), len(edited)
    if baseline.folder is None or candidate.folder is None:
        return CorpusChange(*counts)
    pairs = [
        (before.cases.ids[one], after.cases.ids[other])
        for one, other, is_new in zip(pairing.baseline, pairing.candidate, pairing.new_question, strict=True)
        if not is_new
    ]
    affected: tuple[set[str], set[str]] = set(), set()
    for side, names in ((baseline, dict(pairs)), (candidate, {other: other for _, other in pairs})):
        _collect(side, removed | added | edited, names, affected)
    gold, retrieved = (tuple(sorted(ids)[:NAMED]) for ids in affected)
    return CorpusChange(*counts, gold, retrieved)


def _collect(side: Side, changed_ids: Set[str], names: Mapping[str, str], affected: tuple[set[str], set[str]]) -> None:
    """Add the names of cases with changed gold documents, and with changed retrieved documents; `names` by id."""
    assert side.folder is not None  # noqa: S101  its caller has looked
    for row in lines(side.folder / "per_item.jsonl"):
        if (name := names.get(row["id"])) is None:
            continue
        output = row.get("output")
        fields: Mapping[str, Any] = output if isinstance(output, Mapping) else {}
        if not changed_ids.isdisjoint(fields.get("expected") or ()):
            affected[0].add(name)
        if any(hit.get("id") in changed_ids for hit in fields.get("retrieved") or ()):
            affected[1].add(name)
