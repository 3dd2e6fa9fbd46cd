"""Compares the runs of a sweep with a chosen baseline, and with the best run.

Only completed runs are compared if there are at least two and the baseline is one of them; else all runs with results.
Means, differences and the best run are computed over the cases that all compared runs have finished.

- Against the baseline, p is adjusted (Holm) over all other runs, in the families of runner.compare.verdicts: the first
  main metric for itself, the others together.
- What stands for quality on the Pareto front is the main metric of the evaluation (runner.compare.front).
- The best run of a metric is known only after looking, so that its lead over any other is the largest of all that
  chance could have brought about. p of its differences is adjusted (Holm) over all pairs of runs, those that are
  not tested counting as not significant. A run is within noise of the best where the difference is not
  significant, or smaller than the margin; but not where a verdict says otherwise: a run that is worse than the
  baseline is not, nor is the baseline where the best run is better.

Main metrics are those of runner.compare.verdicts. Those at the run's own k are left out where k differs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.compare.alike import Rows, identical_groups, read_rows
from runner.compare.cells import Cells, open_cells
from runner.compare.comparability import Reason
from runner.compare.front import front
from runner.compare.judges import judges, same_judge
from runner.compare.snapshots import Bools, Snapshot
from runner.compare.timed import is_faster
from runner.compare.verdicts import Adjusted, Verdict, adjust, main_metrics, verdict
from runner.config.references import CEILING, FLOORS, NAMES
from runner.metrics import paired
from runner.metrics.metric import LAST_QUALITY
from runner.metrics.paired import PairedResult
from runner.metrics.swaps import ALPHA


@dataclass(frozen=True, slots=True)
class Against:
    """One run on one metric. `difference`: from the baseline, None for the baseline itself."""

    folder: str
    value: float
    difference: PairedResult | None
    adjusted: Adjusted
    verdict: Verdict | None
    below_best: float
    p_best: float
    near_best: bool


@dataclass(frozen=True, slots=True)
class UnadjustedMetric:
    """A metric before p is adjusted. `apart`: why runs are not comparable; `values` and `differences` by folder."""

    name: str
    apart: Mapping[str, Sequence[Reason]]
    rows: Bools
    values: Mapping[str, float]
    differences: Mapping[str, PairedResult]


@dataclass(frozen=True, slots=True)
class SweptMetric:
    """`same`: whether no case differs between any two runs."""

    name: str
    n: int
    best: str
    same: bool
    cells: Sequence[Against]
    not_comparable: Mapping[str, Sequence[Reason]]


def compare_sweep(
    folder: Path, statuses: Mapping[str, str], *, baseline: str, seed: int, margin: float
) -> dict[str, Any] | None:
    """Compare the runs of a sweep.

    Args:
        folder: of the sweep.
        statuses: by folder, of the runs in order and of reference runs.
        baseline: the folder of the run to compare with.
        seed: of intervals and tests.
        margin: the least difference that counts, a share of the range of a metric.

    Returns:
        JSON values; None where fewer than two runs have results, unless references do.
    """
    all_snapshots = open_cells(folder, statuses)
    references = {name: snapshot for name, snapshot in all_snapshots.items() if name in NAMES}
    snapshots = {name: snapshot for name, snapshot in all_snapshots.items() if name not in NAMES}
    completed = {name: snapshot for name, snapshot in snapshots.items() if statuses[name] == "completed"}
    compared = completed if baseline in completed and len(completed) > 1 else snapshots
    if len(compared) < (1 if references else 2):
        return None
    baseline_folder = baseline if baseline in compared else next(iter(compared))
    cells = Cells(_sharing_cases(compared, baseline_folder), seed)
    names = _main(cells, baseline_folder)
    metrics = _metrics(cells, baseline_folder, names, margin)
    rows = {name: read_rows(folder / name, snapshot) for name, snapshot in cells.snapshots.items()}
    beside = _sharing_cases({baseline_folder: compared[baseline_folder], **references}, baseline_folder)
    del beside[baseline_folder]
    return {
        "baseline": baseline_folder,
        "baseline_given": baseline,
        "margin": margin,
        "alpha": ALPHA,
        "n_common": cells.n_rows,
        "cells": list(compared),
        "apart": [name for name in compared if name not in cells.snapshots],
        "left_out": [name for name in statuses if name not in compared and name not in NAMES],
        "metrics": [_record(swept_metric) for swept_metric in metrics],
        **({"judges": side_by_side} if (side_by_side := judges(folder, cells.snapshots)) else {}),
        **({"alike": groups} if (groups := identical_groups(cells.snapshots, rows)) else {}),
        "timing": {"pareto": _front(cells, baseline_folder, margin, rows, seed)},
        **({"gaps": gaps(cells.snapshots, beside, names, seed=seed)} if beside else {}),
    }


def compare_on(
    folder: Path, baseline: str, folders: Collection[str], metrics: Sequence[str], *, seed: int, margin: float
) -> list[dict[str, Any]]:
    """Compare some runs of a sweep with one of them, on some metrics.

    Args:
        folder: of the sweep.
        baseline: the folder of the run to compare with.
        folders: of the other runs.
        metrics: their names.
        seed: of intervals and tests.
        margin: the least difference that counts, a share of the range of a metric.

    Returns:
        JSON values as of `compare_sweep`, without metrics that fewer than two of the runs have.
    """
    cells = Cells(open_cells(folder, [baseline, *folders]), seed)
    if baseline not in cells.snapshots or len(cells.snapshots) < 2:
        return []
    names = [name for name in metrics if all(name in snapshot.cases.values for snapshot in cells.snapshots.values())]
    return [_record(swept_metric) for swept_metric in _metrics(cells, baseline, names, margin)]


def _sharing_cases(snapshots: Mapping[str, Snapshot], baseline: str) -> dict[str, Snapshot]:
    """The runs that share cases with the baseline; runs on other data are left out."""
    ids = set(snapshots[baseline].cases.ids)
    return {name: snapshot for name, snapshot in snapshots.items() if not ids.isdisjoint(snapshot.cases.ids)}


def _main(cells: Cells, baseline: str) -> list[str]:
    """The main metrics among those that the baseline shares with another run, or of the baseline where it is alone."""
    candidates = [candidate for candidate in cells.snapshots if candidate != baseline] or [baseline]
    catalogue = cells.catalogue
    one_k = _one_k(cells)
    names = [
        name
        for name in cells.snapshots[baseline].cases.values
        if (one_k or not catalogue.variant(name).is_own_k)
        and not all(cells.reasons(baseline, candidate, name) for candidate in candidates)
    ]
    return main_metrics(names, catalogue, cells.snapshots[baseline].cases.values)


def _metrics(cells: Cells, baseline: str, names: Sequence[str], margin: float) -> list[SweptMetric]:
    """The results of main metrics, in order. Metrics that apply to no case are left out."""
    unadjusted = [metric for name in names if (metric := _measure(cells, baseline, name)) is not None]
    families = [
        [metric for metric in unadjusted if (metric.name in names[:1]) is is_first] for is_first in (True, False)
    ]
    adjusted: dict[tuple[str, str], Adjusted] = {}
    for family in families:
        tests = {(metric.name, folder): test for metric in family for folder, test in metric.differences.items()}
        adjusted |= zip(tests, adjust(list(tests.values())), strict=True)
    return [_sweep_metric(cells, baseline, metric, adjusted, margin) for metric in unadjusted]


def _measure(cells: Cells, baseline: str, name: str) -> UnadjustedMetric | None:
    reasons = {other: cells.reasons(baseline, other, name) for other in cells.snapshots if other != baseline}
    folders = [other for other in cells.snapshots if not reasons.get(other)]
    rows = cells.rows(name, folders)
    means = {folder: cells.mean(name, folder, rows) for folder in folders}
    values = {folder: value for folder, value in means.items() if value is not None}
    if baseline not in values or len(values) < 2:
        return None
    silent = {folder: [Reason("pairs")] for folder in folders if folder not in values}
    apart = {**{folder: why for folder, why in reasons.items() if why}, **silent}
    return UnadjustedMetric(name, apart, rows, values, _differences(cells, baseline, list(values), name, rows))


def _sweep_metric(
    cells: Cells, baseline: str, metric: UnadjustedMetric, adjusted: Mapping[tuple[str, str], Adjusted], margin: float
) -> SweptMetric:
    """`adjusted`: p by metric and folder."""
    name, values, differences = metric.name, metric.values, metric.differences
    variant = cells.catalogue.variant(name)
    best = (max if variant.direction == "higher" else min)(values, key=lambda folder: values[folder])
    leads = _differences(cells, best, list(values), name, metric.rows)
    p_best = adjust_p_over_pairs(leads, len(values))
    open_runs = {folder for folder in values if cells.is_undecided(name, folder, metric.rows)}
    p_of = {folder: adjusted.get((name, folder), Adjusted(1.0, 1)) for folder in values}
    verdicts = {folder: verdict(variant, each, p_of[folder], margin) for folder, each in differences.items()}
    verdicts |= {folder: "undecided" for folder in verdicts if not open_runs.isdisjoint((folder, baseline))}
    far = {
        folder
        for folder, lead in leads.items()
        if open_runs.isdisjoint((folder, best)) and _is_far(lead, p_best[folder], margin * variant.span)
    }
    far |= {folder for folder, each in verdicts.items() if each == "worse"}
    far |= {baseline} if verdicts.get(best) == "better" else set()
    entries = [
        Against(
            folder,
            value,
            differences.get(folder),
            p_of[folder],
            verdicts.get(folder),
            leads[folder].difference if folder in leads else 0.0,
            p_best.get(folder, 1.0),
            near_best=folder not in far,
        )
        for folder, value in values.items()
    ]
    same = not any(numbers.differs for numbers in (*differences.values(), *leads.values()))
    return SweptMetric(name, int(metric.rows.sum()), best, same, entries, metric.apart)


def _differences(
    cells: Cells, reference: str, folders: Sequence[str], name: str, rows: Bools
) -> dict[str, PairedResult]:
    """The differences of all other runs from `reference`."""
    differences = {
        other: cells.between(reference, other, {name: rows}).get(name) for other in folders if other != reference
    }
    return {other: numbers for other, numbers in differences.items() if numbers is not None}


def adjust_p_over_pairs(leads: Mapping[str, PairedResult], n_runs: int) -> dict[str, float]:
    """Adjusted p of the lead of the best run over the others, by folder."""
    tests = [folder for folder, numbers in leads.items() if numbers.differs]
    n_further = n_runs * (n_runs - 1) // 2 - len(tests)
    adjusted = paired.holm([*(leads[folder].p for folder in tests), *([1.0] * n_further)])
    return {**dict.fromkeys(leads, 1.0), **dict(zip(tests, adjusted[: len(tests)], strict=True))}


def _is_far(lead: PairedResult, p: float, matters: float) -> bool:
    return p < ALPHA and lead.is_enough and abs(lead.difference) >= matters


def _front(cells: Cells, baseline: str, margin: float, rows: Mapping[str, Rows], seed: int) -> dict[str, Any] | None:
    """The Pareto front; None where no metric represents quality, and where the runs do not differ."""
    one_judge = {name: run for name, run in cells.snapshots.items() if same_judge(cells.snapshots[baseline], run)}
    if len(one_judge) < len(cells.snapshots):  # systems do not differ by their judge
        cells = Cells(one_judge, seed)
    values = _qualities(cells, baseline)
    if len(one_judge) < 2 or not values:
        return None

    def faster(first: str, second: str) -> bool:
        return is_faster(rows[first].live_ms, rows[second].live_ms, seed=seed)

    pareto_front = front(cells, values, margin=margin, is_faster=faster)
    is_same = all(len(set(means.values())) == 1 for means in values.values())
    return None if is_same and not any(cell["dominated_by"] for cell in pareto_front["cells"]) else pareto_front


def _qualities(cells: Cells, baseline: str) -> dict[str, dict[str, float]]:
    """Metric -> folder -> mean, of the metrics that represent quality: those of the first rank with values in two runs.
    Each run has them at its own k, which may be the cost."""
    other_runs = [other for other in cells.snapshots if other != baseline]
    apart = {name: _incomparable_runs(cells, baseline, name) for name in cells.snapshots[baseline].cases.values}
    names = main_metrics([name for name, folders in apart.items() if len(folders) < len(other_runs)], cells.catalogue)
    by_value: dict[int, list[str]] = {}
    for name in names:
        variant = cells.catalogue.variant(name)
        if (
            variant.metric is not None
            and variant.metric.quality is not None
            and (variant.fixed is None or _one_k(cells))
        ):
            by_value.setdefault(variant.metric.quality, []).append(name)
    for lowest, equal_metrics in sorted(by_value.items()):
        representatives = equal_metrics[:1] if lowest == LAST_QUALITY else equal_metrics
        values = {name: _means(cells, name, apart[name]) for name in representatives}
        if all(len(means) > 1 for means in values.values()):
            return values
    return {}


def _incomparable_runs(cells: Cells, baseline: str, name: str) -> set[str]:
    reasons = {other: cells.reasons(baseline, other, name) for other in cells.snapshots if other != baseline}
    return {other for other, of_pair in reasons.items() if any(reason.kind != "k" for reason in of_pair)}


def _means(cells: Cells, name: str, apart: Collection[str]) -> dict[str, float]:
    folders = [folder for folder in cells.snapshots if folder not in apart]
    rows = cells.rows(name, folders)
    means = {folder: cells.mean(name, folder, rows) for folder in folders}
    return {folder: value for folder, value in means.items() if value is not None}


def _one_k(cells: Cells) -> bool:
    return len({snapshot.k for snapshot in cells.snapshots.values()}) == 1


def _record(metric: SweptMetric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "n": metric.n,
        "same": metric.same,
        "best": metric.best,
        "within_noise_of_best": [cell.folder for cell in metric.cells if cell.near_best],
        "cells": [_cell(cell) for cell in metric.cells],
        "not_comparable": {
            folder: [asdict(reason) for reason in reasons] for folder, reasons in metric.not_comparable.items()
        },
    }


def _cell(cell: Against) -> dict[str, Any]:
    difference = cell.difference
    numbers = {} if difference is None else {
        "difference": difference.difference,
        "ci_low": difference.low,
        "ci_high": difference.high,
        "p": difference.p,
        "p_holm": cell.adjusted.p,
        "tests": cell.adjusted.tests,
        "effect_size": difference.effect_size,
        "mde": difference.detectable(cell.adjusted.tests),
        "n_differing": difference.power.differing,
        "n_clusters": difference.n_clusters,
        "widening": difference.widening,
        "verdict": cell.verdict,
    }  # fmt: skip
    best = {"difference": cell.below_best, "p_holm": cell.p_best, "within_noise": cell.near_best}
    return {"folder": cell.folder, "value": cell.value, **numbers, "from_best": best}


def gaps(
    systems: Mapping[str, Snapshot], references: Mapping[str, Snapshot], metrics: Sequence[str], *, seed: int
) -> list[dict[str, Any]]:
    """The share of the gap between floor and ceiling that each run of a sweep closes.

    Floor: the better one of the scores without context and with random chunks. Ceiling: the score with the gold
    documents. Share: (score - floor) / (ceiling - floor), over the cases that all of these runs have finished; below 0
    for a run that is worse than the floor, above 1 for one that beats the ceiling. There is no share where the gap is
    not significant (p of ceiling against floor at .05).

    Args:
        systems: snapshots of the runs, by folder.
        references: snapshots of reference runs, by name.
        metrics: their names.
        seed: of intervals and tests.

    Returns:
        JSON values, without metrics that the ceiling or all floors lack; empty where one of the two is missing.
    """
    cells = Cells({**systems, **references}, seed)
    gaps = (_gap(cells, list(systems), list(references), metric) for metric in metrics)
    return [gap for gap in gaps if gap is not None]


def _gap(cells: Cells, systems: Sequence[str], references: Sequence[str], metric: str) -> dict[str, Any] | None:
    able = [folder for folder in systems if metric in cells.snapshots[folder].cases.values]
    beside = [folder for folder in references if able and not cells.reasons(able[0], folder, metric)]
    able = [folder for folder in able if not cells.reasons(able[0], folder, metric)]
    rows = cells.rows(metric, [*able, *beside]) if able else None
    if rows is None:
        return None
    means = {folder: cells.mean(metric, folder, rows) for folder in (*able, *beside)}
    mean_of = {folder: value for folder, value in means.items() if value is not None}
    floors = [folder for folder in FLOORS if folder in mean_of]
    if not floors or CEILING not in mean_of:
        return None
    sign = -1.0 if cells.catalogue.direction(metric) == "lower" else 1.0
    floor = max(floors, key=lambda folder: sign * mean_of[folder])
    gap = cells.between(floor, CEILING, {metric: rows}).get(metric)
    if gap is None:
        return None
    large = gap.p < ALPHA and sign * gap.difference > 0
    scores = {folder: mean_of[folder] for folder in able if folder in mean_of}
    return {
        "name": metric,
        "n": gap.n,
        "floor": {"folder": floor, "value": mean_of[floor]},
        "ceiling": {"folder": CEILING, "value": mean_of[CEILING]},
        "difference": gap.difference,
        "ci_low": gap.low,
        "ci_high": gap.high,
        "p": gap.p,
        "is_significant": large,
        "shares": {name: (score - mean_of[floor]) / gap.difference for name, score in scores.items()} if large else {},
    }
