"""The runs of a sweep against a chosen one, and against the best of them.

Only completed runs are compared where there are two of them with the baseline among them; else all that have
results. Everything is over the cases that all compared runs have finished: the means, their differences, the best.

- Against the baseline, p is adjusted (Holm) for each main metric over all other runs.
- The best run of a metric is known only after looking, so that its lead over any other is the largest of all that
  chance could have brought about. p of its differences is adjusted (Holm) over all pairs of runs, those that are
  not tested counting as not significant. A run is within noise of the best where the difference is not
  significant, or smaller than the margin.

Main metrics are those of runner.compare.verdicts. Those at the run's own k are left out where k differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runner.compare.cells import Cells, open_cells
from runner.compare.comparability import Reason
from runner.compare.front import front
from runner.compare.gap import gaps
from runner.compare.snapshots import Bools, Snapshot
from runner.compare.verdicts import ALPHA, Verdict, adjusted, main_metrics, verdict
from runner.config.references import NAMES
from runner.metrics import paired
from runner.metrics.metric import Catalogue
from runner.metrics.paired import Paired


@dataclass(frozen=True, slots=True)
class Against:
    """One run on one metric; `difference` is that from the baseline, None for the baseline itself."""

    folder: str
    value: float
    difference: Paired | None
    p_holm: float
    verdict: Verdict | None
    below_best: float
    p_best: float
    near_best: bool


@dataclass(frozen=True, slots=True)
class SweptMetric:
    """`same`: no case differs between any two runs."""

    name: str
    n: int
    best: str
    same: bool
    cells: Sequence[Against]
    not_comparable: Mapping[str, Sequence[Reason]]


def compare_sweep(
    folder: Path, statuses: Mapping[str, str], *, baseline: str, seed: int, margin: float
) -> dict[str, Any] | None:
    """`statuses` by folder, of the runs in their order and of references. JSON values; None where fewer than two
    runs have results, unless references do."""
    opened = open_cells(folder, statuses)
    references = {name: snapshot for name, snapshot in opened.items() if name in NAMES}
    snapshots = {name: snapshot for name, snapshot in opened.items() if name not in NAMES}
    completed = {name: snapshot for name, snapshot in snapshots.items() if statuses[name] == "completed"}
    compared = completed if baseline in completed and len(completed) > 1 else snapshots
    if len(compared) < (1 if references else 2):
        return None
    used = baseline if baseline in compared else next(iter(compared))
    cells = Cells(_beside(compared, used), seed)
    names = _main(cells, used)
    metrics = [found for name in names if (found := _metric(cells, used, name, margin)) is not None]
    beside = _beside({used: compared[used], **references}, used)
    del beside[used]
    return {
        "baseline": used,
        "baseline_given": baseline,
        "margin": margin,
        "alpha": ALPHA,
        "n_common": cells.n_rows,
        "cells": list(compared),
        "apart": [name for name in compared if name not in cells.snapshots],
        "left_out": [name for name in statuses if name not in compared and name not in NAMES],
        "metrics": [_record(found) for found in metrics],
        "timing": {"pareto": _front(cells, quality, seed) if (quality := _quality(metrics, cells.catalogue)) else None},
        **({"gaps": gaps(cells.snapshots, beside, names, seed=seed)} if beside else {}),
    }


def _beside(snapshots: Mapping[str, Snapshot], baseline: str) -> dict[str, Snapshot]:
    """Runs that share cases with the baseline: those on other data are apart."""
    ids = set(snapshots[baseline].cases.ids)
    return {name: snapshot for name, snapshot in snapshots.items() if not ids.isdisjoint(snapshot.cases.ids)}


def _main(cells: Cells, baseline: str) -> list[str]:
    """Main metrics of those that the baseline shares with another run, or of all where there is no other."""
    others = [other for other in cells.snapshots if other != baseline] or [baseline]
    catalogue = cells.catalogue
    one_k = len({snapshot.k for snapshot in cells.snapshots.values()}) == 1
    names = [
        name
        for name in cells.snapshots[baseline].cases.values
        if (one_k or not catalogue.variant(name).is_own_k)
        and not all(cells.reasons(baseline, other, name) for other in others)
    ]
    return main_metrics(names, catalogue, cells.snapshots[baseline].cases.values)


def _metric(cells: Cells, baseline: str, name: str, margin: float) -> SweptMetric | None:
    """None where no case counts."""
    reasons = {other: cells.reasons(baseline, other, name) for other in cells.snapshots if other != baseline}
    folders = [other for other in cells.snapshots if not reasons.get(other)]
    rows = cells.rows(name, folders)
    means = {folder: cells.mean(name, folder, rows) for folder in folders}
    values = {folder: value for folder, value in means.items() if value is not None}
    if baseline not in values or len(values) < 2:
        return None
    variant = cells.catalogue.variant(name)
    best = (max if variant.direction == "higher" else min)(values, key=lambda folder: values[folder])
    differences = _differences(cells, baseline, list(values), name, rows)
    p_holm = dict(zip(differences, adjusted(list(differences.values())), strict=True))
    leads = _differences(cells, best, list(values), name, rows)
    p_best = adjusted_over_pairs(leads, len(values))
    entries = []
    for folder, value in values.items():
        found, lead = differences.get(folder), leads.get(folder)
        is_far = lead is not None and _is_far(lead, p_best[folder], margin * variant.span)
        entries.append(
            Against(
                folder,
                value,
                found,
                p_holm.get(folder, 1.0),
                None if found is None else verdict(variant, found, p_holm[folder], margin),
                0.0 if lead is None else lead.difference,
                p_best.get(folder, 1.0),
                near_best=not is_far,
            )
        )
    same = not any(numbers.differs for numbers in (*differences.values(), *leads.values()))
    silent = {folder: [Reason("pairs")] for folder in folders if folder not in values}
    apart = {folder: found for folder, found in reasons.items() if found}
    return SweptMetric(name, int(rows.sum()), best, same, entries, {**apart, **silent})


def _differences(cells: Cells, one: str, folders: Sequence[str], name: str, rows: Bools) -> dict[str, Paired]:
    """Of all runs but `one` from it."""
    found = {other: cells.between(one, other, {name: rows}).get(name) for other in folders if other != one}
    return {other: numbers for other, numbers in found.items() if numbers is not None}


def adjusted_over_pairs(leads: Mapping[str, Paired], n_runs: int) -> dict[str, float]:
    """Of the best run over the others, by folder."""
    tests = [folder for folder, numbers in leads.items() if numbers.differs]
    others = n_runs * (n_runs - 1) // 2 - len(tests)
    found = paired.holm([*(leads[folder].p for folder in tests), *([1.0] * others)])
    return {**dict.fromkeys(leads, 1.0), **dict(zip(tests, found[: len(tests)], strict=True))}


def _is_far(lead: Paired, p: float, matters: float) -> bool:
    return p < ALPHA and lead.leaves_out_zero and abs(lead.difference) >= matters


def _quality(metrics: Sequence[SweptMetric], catalogue: Catalogue) -> SweptMetric | None:
    """The one that says of itself that it stands for quality before the others; one in which the runs differ before
    any other."""
    found = {each.name: record.quality for each in metrics if (record := catalogue.variant(each.name).metric)}
    ranks = {name: rank for name, rank in found.items() if rank is not None}
    usable = (each for each in metrics if each.name in ranks)
    return min(usable, key=lambda each: (each.same, ranks[each.name]), default=None)


def _front(cells: Cells, quality: SweptMetric, seed: int) -> dict[str, Any] | None:
    """None where nothing sets the runs apart: all would be on it."""
    values = {cell.folder: cell.value for cell in quality.cells}
    near_best = {cell.folder for cell in quality.cells if cell.near_best}
    is_lower = cells.catalogue.direction(quality.name) == "lower"
    found = front(cells.snapshots, quality.name, values, near_best, is_lower=is_lower, seed=seed)
    return None if quality.same and not any(cell["dominated_by"] for cell in found["cells"]) else found


def _record(found: SweptMetric) -> dict[str, Any]:
    return {
        "name": found.name,
        "n": found.n,
        "same": found.same,
        "best": found.best,
        "within_noise_of_best": [cell.folder for cell in found.cells if cell.near_best],
        "cells": [_cell(cell) for cell in found.cells],
        "not_comparable": {
            folder: [asdict(reason) for reason in reasons] for folder, reasons in found.not_comparable.items()
        },
    }


def _cell(cell: Against) -> dict[str, Any]:
    found = cell.difference
    numbers = {} if found is None else {
        "difference": found.difference,
        "ci_low": found.low,
        "ci_high": found.high,
        "p": found.p,
        "p_holm": cell.p_holm,
        "effect_size": found.effect_size,
        "mde": found.detectable,
        "verdict": cell.verdict,
    }  # fmt: skip
    best = {"difference": cell.below_best, "p_holm": cell.p_best, "within_noise": cell.near_best}
    return {"folder": cell.folder, "value": cell.value, **numbers, "from_best": best}
