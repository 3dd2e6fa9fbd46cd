"""Compares a record with its repeated runs: identical, within noise, or different, and where.

identical       every recorded number, of every metric and case, is the same
within_noise    not identical, and no main metric differs by more than chance
different       a main metric differs by more than chance
not_comparable  the runs were measured differently: other data or labels, another judge, prompt or metric
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from runner.commands.freeze.record import RecordRun
from runner.compare.compare import Comparison, compare
from runner.compare.regression import Regression
from runner.compare.sides import Side
from runner.compare.snapshots import Cases, Snapshot

Outcome = Literal["identical", "within_noise", "different", "not_comparable"]
# Most severe last.
EXIT_CODES: Mapping[Outcome, int] = {"identical": 0, "within_noise": 0, "different": 4, "not_comparable": 5}
NUMBERS = {"values": np.nan, "unscored": False, "weights": 1.0, "noise": np.nan}  # the value of a case without one


@dataclass(frozen=True, slots=True)
class Changes:
    """The differences. `metrics`: (name, in the record, now); `cases`: ids of differing cases that both have;
    `identities`: names of changed data, judges or other conditions."""

    metrics: Sequence[tuple[str, float | None, float | None]]
    cases: Sequence[str]
    removed: Sequence[str]
    new: Sequence[str]
    identities: Sequence[str]

    @property
    def in_numbers(self) -> bool:
        """Whether a metric or a case differs."""
        return bool(self.metrics or self.cases or self.removed or self.new)


@dataclass(frozen=True, eq=False)
class RepeatedRun:
    """One repeated run of a record in `folder`. `label`: its swept overrides."""

    label: str
    folder: Path
    outcome: Outcome
    changes: Changes
    comparison: Comparison


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A repeated record in `folder`. `environment`: (what, in the record, here) of everything that differs here."""

    record: str
    folder: Path
    runs: Sequence[RepeatedRun]
    environment: Sequence[tuple[str, str, str]]

    @property
    def outcome(self) -> Outcome:
        """The most severe outcome of the runs."""
        found = {run.outcome for run in self.runs}
        return next(outcome for outcome in reversed(list(EXIT_CODES)) if outcome in found)

    @property
    def exit_code(self) -> int:
        """The exit code of `reproduce` for this outcome."""
        return EXIT_CODES[self.outcome]


def reproduction(recorded: RecordRun, now: Side, folder: Path, *, seed: int) -> RepeatedRun:
    """Compare a recorded run with its repeated run, strictly and without a gate."""
    comparison = compare(recorded.side, now, Regression(rules=[], must_not_break=[]), seed=seed, strict=True)
    changes = changes_of(recorded.side.snapshot, now.snapshot)
    label = " ".join(recorded.swept) or folder.name
    return RepeatedRun(label, folder, _outcome(comparison, changes), changes, comparison)


def _outcome(comparison: Comparison, changes: Changes) -> Outcome:
    if not changes.in_numbers:
        return "identical"
    if comparison.was_measured_differently or comparison.verdict == "not_comparable":
        return "not_comparable"
    judged = comparison.metrics if comparison.verdict == "not_judged" else comparison.main
    return "different" if any(each.is_certain for each in judged) else "within_noise"  # in either direction


def changes_of(was: Snapshot, now: Snapshot) -> Changes:
    """The differences in what the record holds; metrics that only newer code measures are ignored."""
    before, after = set(was.cases.ids), set(now.cases.ids)
    names = dict.fromkeys([*was.identity, *now.identity])
    return Changes(
        list(_metrics(was.metrics, now.metrics)),
        list(_cases(was.cases, now.cases)),
        sorted(before - after),
        sorted(after - before),
        [name for name in names if was.identity.get(name) != now.identity.get(name)],
    )


def _metrics(
    was: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, float | None, float | None]]:
    for name, entry in was.items():
        found = now.get(name, {})
        if entry != found:
            yield name, entry.get("value"), found.get("value")


def _cases(was: Cases, now: Cases) -> Iterator[str]:
    """The ids of common cases that differ in a recorded value, ascending."""
    _, before, after = np.intersect1d(np.array(was.ids), np.array(now.ids), assume_unique=True, return_indices=True)
    differ = was.failed[before] != now.failed[after]
    for kind, nothing in NUMBERS.items():
        columns, repeated_columns = getattr(was, kind), getattr(now, kind)
        for name in {*columns, *(repeated_columns.keys() & was.values.keys())}:
            recorded, repeated = (
                columns.get(name, np.full(len(was), nothing)),
                repeated_columns.get(name, np.full(len(now), nothing)),
            )
            differ |= _unequal(recorded[before], repeated[after])
    texts = {name: (getattr(was, name), getattr(now, name)) for name in ("content", "gold")}
    texts |= {name: (column, now.labels.get(name, [None] * len(now))) for name, column in was.labels.items()}
    for recorded, repeated in texts.values():
        differ |= np.array([recorded[a] != repeated[b] for a, b in zip(before, after, strict=True)], dtype=bool)
    yield from (was.ids[place] for place in before[differ])


def _unequal(recorded: Any, repeated: Any) -> Any:
    """Elementwise inequality; NaN equals NaN."""
    if recorded.dtype != np.float64:
        return recorded != repeated
    return (recorded != repeated) & ~(np.isnan(recorded) & np.isnan(repeated))
