"""Reads the questions and answers of another system from any known file, as lines of a queries file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runner.data.columns import Cases, Column, chosen_columns, column_names, left_columns
from runner.data.exports import LEFT, SYSTEM, recognise
from runner.data.problems import ProblemLog, why_empty
from runner.data.tables import Row, Table
from runner.errors import RunnerError


@dataclass(frozen=True, slots=True)
class Logs:
    """`cases`: (line of the file or None, case for runner.data.queries). `column_names`: field -> column or place in
    the form. `repeated_ids`: ids that got a number. `left_checks`: counts of assertions without a check here, by
    type; `systems`: of an export of several systems, id of a case -> (the system that answered, the id of its test)."""

    form: str
    column_names: Mapping[str, str]
    unused_columns: Sequence[str]
    cases: Sequence[tuple[int | None, dict[str, Any]]]
    counts: Mapping[str, int]
    blank_answers: int
    repeated_ids: int
    left_checks: Mapping[str, int]
    systems: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def by_system(self) -> dict[str, list[dict[str, Any]]]:
        """The cases of each of several systems, with the ids of the tests, which all systems share; empty for one."""
        found: dict[str, list[dict[str, Any]]] = {}
        for _, case in self.cases:
            if case["id"] in self.systems:
                system, id = self.systems[case["id"]]
                kept = {name: value for name, value in case.items() if name != "tags"}
                found.setdefault(system, []).append({**kept, "id": id})
        return found


def logs_of(
    table: Table,
    path: str,
    key: str,
    log: ProblemLog,
    error: type[RunnerError],
    *,
    columns: Mapping[str, str],
    prefix: str = "",
    separator: str | None = None,
) -> Logs:
    """`columns`: given names of columns by field; `prefix`: stands before a field in messages.

    An unusable row is an error in the log and left out. Raises `error` for an unknown column, and for a table without
    questions.
    """
    export = recognise(table)
    rows = export.rows if export else [(line, row, {}) for line, row in table.rows]
    log.stop_if_strict()
    if not rows:
        raise error(f"{key}: no rows in {path}{why_empty(log, path)}")
    originals = [row for _, row, _ in rows]
    column_of = chosen_columns(originals, columns, prefix, error, guesses=export is None)
    sources = {
        **(export.sources if export else {}),
        **{field: column.name for field, column in column_of.items()},
    }
    if "question" not in sources:
        columns_there = ", ".join(name for name in column_names(originals) if "." not in name)
        hint = f"name it: {prefix}question=COLUMN; it has: {columns_there}"
        raise error(f"{key}: no column of {path} looks like a question; {hint}")
    cases = Cases(path, log, separator)
    read = [(line, {**cells, **_cells(row, column_of)}) for line, row, cells in rows]
    usable = [(line, case) for number, (line, cells) in enumerate(read, 1) if (case := cases.of(number, line, cells))]
    log.stop_if_strict()
    if not usable:
        raise error(f"{key}: no row of {path} can be used{why_empty(log, path)}")
    unused_columns = export.unused if export else left_columns(originals, column_of.values())
    form = export.name if export else table.shown
    left_checks = Counter(name for _, _, cells in rows for name in cells.get(LEFT, ()))
    systems = {str(cells["id"]): cells[SYSTEM] for _, _, cells in rows if SYSTEM in cells}
    counted = (cases.counts, cases.blank_answers, cases.repeated_ids, left_checks)
    return Logs(form, sources, unused_columns, usable, *counted, systems)


def _cells(row: Row, columns: Mapping[str, Column]) -> dict[str, Any]:
    return {field: column.read(row) for field, column in columns.items()}
