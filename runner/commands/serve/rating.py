"""Ratings of people, one answer at a time: sheets as `labels` writes them, one a rater, which `calibrate` reads."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.commands.labels import BOM, RowSelection, pick_answers
from runner.commands.serve.runs import Place, confine
from runner.compare.case_index import Cases
from runner.data.label_sheets import COLUMNS, plain_cell, record_of, sheet_row
from runner.errors import InputError
from runner.system.writing import csv_of, replacing

RATER = re.compile(r"[\w][\w .@-]{0,39}")
MOST = 1000
READ = ("id", "question", "answer", "contexts", "answers", "history", "language")  # by a person


@dataclass(frozen=True)
class Sheet:
    """`cells`: by case, in the order of the sheet: rating and comment as written there."""

    path: Path
    rubric: str
    rater: str
    cells: Mapping[str, Mapping[str, str]]

    @property
    def n_rated(self) -> int:
        """How many answers have a rating."""
        return sum(bool(cells["rating"].strip()) for cells in self.cells.values())


class Sheets:
    """The sheets of one root. Each rating rewrites its sheet, so that none is left unsaved."""

    def __init__(self, root: Path) -> None:
        self.folder = root.resolve() / ".serve" / "labels"
        self._lock = threading.Lock()

    def open(self, place: Place, cases: Cases, rater: str, rubric: str | None, pick: str, n: int) -> Sheet:
        """The sheet of a rater, which is made where it is missing: all raters get the same answers."""
        _check(rater)
        selection = pick_answers(cases, place.path, rubric, pick, min(n, MOST), seed=42)
        with self._lock:
            path = self._path(place, selection.rubric, rater)
            if not path.is_file():
                _write(path, _rows(selection, rater, pick))
            return _read(path, selection.rubric, rater)

    def get(self, place: Place, rater: str, rubric: str) -> Sheet | None:
        """The sheet; None where it does not exist."""
        _check(rater)
        path = self._path(place, rubric, rater)
        return _read(path, rubric, rater) if path.is_file() else None

    def rate(self, place: Place, rubric: str, rater: str, case: str, rating: float | None, comment: str) -> Sheet:
        """Raises InputError for a case that is not in the sheet of the rater."""
        with self._lock:
            path = self._path(place, rubric, rater)
            if not path.is_file():
                raise InputError(f"rater: {rater[:40]} has no sheet for {rubric[:80]} of this run yet")
            rows = _table(path)
            at = {name: number for number, name in enumerate(COLUMNS)}
            mine = next((row for row in rows[1:] if row[at["id"]] == case), None)
            if mine is None:
                raise InputError(f"case_id: the sheet has no answer '{case[:80]}'")
            mine[at["rating"]], mine[at["comment"]] = "" if rating is None else f"{rating:g}", comment
            _write(path, rows)
            return _read(path, rubric, rater)

    def of_run(self, place: Place, rubric: str) -> list[Path]:
        """Sheets in which something is rated."""
        paths = sorted(confine(self.folder / place.id).glob(f"{_slug(rubric)}.*.csv"))
        return [path for path in paths if _read(path, rubric, "").n_rated]

    def _path(self, place: Place, rubric: str, rater: str) -> Path:
        return confine(self.folder / place.id / f"{_slug(rubric)}.{_slug(rater)}.csv")


def _check(rater: str) -> None:
    if not RATER.fullmatch(rater):
        raise InputError("rater: expected a name of at most 40 letters, digits, spaces, dots or hyphens")


def _slug(name: str) -> str:
    """A file name, distinct for distinct names."""
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{re.sub(r'[^0-9A-Za-z가-힣_-]+', '-', name)[:40]}-{digest}"


def _rows(picked: RowSelection, rater: str, pick: str) -> list[list[str]]:
    rows = [sheet_row(row, picked.rubric, pick) for row in picked.rows]
    place = COLUMNS.index("rater")
    return [list(COLUMNS), *([*row[:place], rater, *row[place + 1 :]] for row in rows)]


def _write(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as scratch:
        scratch.write_bytes(BOM + csv_of(rows).encode())


def _table(path: Path) -> list[list[str]]:
    text = path.read_text(encoding="utf-8-sig")
    return [[plain_cell(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline="")) if row]


def _read(path: Path, rubric: str, rater: str) -> Sheet:
    header, *rows = _table(path)
    cells = [dict(zip(header, row, strict=False)) for row in rows]
    return Sheet(path, rubric, rater, {each["id"]: each for each in cells})


def record(row: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a case that a rater reads."""
    whole = record_of(row)
    return {name: whole.get(name) for name in READ}
