"""How much of the gap between floor and ceiling each run of a sweep closes.

Floor: what the generator reaches without context or with random chunks, whichever is better. Ceiling: what it
reaches with the gold documents. Share: (score - floor) / (ceiling - floor), over the cases that all of these runs
have finished; below 0 for a run that is worse than the floor, above 1 for one that beats the ceiling. There is no
share where the gap is not significant (p of ceiling against floor at .05, its interval excludes 0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.compare.cells import Cells
from runner.compare.snapshots import Snapshot
from runner.compare.verdicts import ALPHA
from runner.config.references import CEILING, FLOORS


def gaps(
    systems: Mapping[str, Snapshot], references: Mapping[str, Snapshot], metrics: Sequence[str], *, seed: int
) -> list[dict[str, Any]]:
    """Snapshots by folder, which is the name of a reference. JSON values; metrics that no floor or not the ceiling
    has are left out, and so are all where one of the two did not run."""
    cells = Cells({**systems, **references}, seed)
    found = (_gap(cells, list(systems), list(references), metric) for metric in metrics)
    return [gap for gap in found if gap is not None]


def _gap(cells: Cells, systems: Sequence[str], references: Sequence[str], metric: str) -> dict[str, Any] | None:
    able = [folder for folder in systems if metric in cells.snapshots[folder].cases.values]
    beside = [folder for folder in references if able and not cells.reasons(able[0], folder, metric)]
    able = [folder for folder in able if not cells.reasons(able[0], folder, metric)]
    rows = cells.rows(metric, [*able, *beside]) if able else None
    if rows is None:
        return None
    means = {folder: cells.mean(metric, folder, rows) for folder in (*able, *beside)}
    known = {folder: value for folder, value in means.items() if value is not None}
    floors = [folder for folder in FLOORS if folder in known]
    if not floors or CEILING not in known:
        return None
    sign = -1.0 if cells.catalogue.direction(metric) == "lower" else 1.0
    floor = max(floors, key=lambda folder: sign * known[folder])
    gap = cells.between(floor, CEILING, {metric: rows}).get(metric)
    if gap is None:
        return None
    large = gap.p < ALPHA and gap.leaves_out_zero and sign * gap.difference > 0
    scores = {folder: known[folder] for folder in able if folder in known}
    return {
        "name": metric,
        "n": gap.n,
        "floor": {"folder": floor, "value": known[floor]},
        "ceiling": {"folder": CEILING, "value": known[CEILING]},
        "difference": gap.difference,
        "ci_low": gap.low,
        "ci_high": gap.high,
        "p": gap.p,
        "is_significant": large,
        "shares": {name: (score - known[floor]) / gap.difference for name, score in scores.items()} if large else {},
    }
