"""Reads the ratings of people from spreadsheets that `python -m runner labels` made.

    id         of the case
    rubric     what was rated
    question, history, answer, contexts, references   what a person reads
    rating     a number on the scale, or yes and no (예, 아니요, O, X), its two ends; empty: not rated
    comment    free
    rater      who rated; one row a person and answer, in one file or in several
    pick       how the answer was picked: from others than `random` ones no mean of a run can be told

CSV as spreadsheets save it: UTF-8 (with or without a BOM) or CP949, separated by commas, semicolons or tabs.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.data.files import expand
from runner.data.problems import ProblemLog
from runner.data.ratings import Scale
from runner.errors import DataError, did_you_mean
from runner.system.writing import may_be_formula

COLUMNS = (
    "id", "rubric", "question", "history", "answer", "contexts", "references", "rating", "comment", "rater", "language",
    "pick",
)  # fmt: skip
NEEDED = ("id", "rubric", "rating")
YES = frozenset({"yes", "y", "true", "o", "예", "네", "맞음", "그렇다", "✓"})
NO = frozenset({"no", "n", "false", "x", "아니요", "아니오", "틀림", "아니다", "✗"})
CONTEXT = re.compile(r"^\[\d+\] ?", re.M)
BETWEEN = " / "  # between several references

Record = dict[str, Any]
Rows = Mapping[str, Mapping[str, Any]]  # rows of per_item.jsonl by id


def sheets_in(path: str) -> list[str]:
    """The files of `anna.csv,ben.csv`; empty where it names no spreadsheets."""
    parts = [path] if path.lower().endswith(".csv") and expand(path).exists() else path.split(",")
    return parts if all(part.lower().endswith(".csv") for part in parts) else []


def picks_in(path: str) -> list[str]:
    """How the answers in spreadsheets were picked, where the files say so."""
    picks = (cells.get("pick") for sheet in sheets_in(path) for _, cells in _cells(sheet) if cells["rating"].strip())
    return sorted({pick for pick in picks if pick})


def read_sheets(
    paths: Sequence[str], scale: Scale, rows: Rows | None, log: ProblemLog
) -> Iterator[tuple[str, int, Record]]:
    """(file, line, record for runner.data.labels), one record an answer with the ratings of all people. Texts come from
    the `rows` of the run where they are given, since a spreadsheet program may have changed them."""
    records: dict[str, tuple[str, int, Record]] = {}
    raters: dict[tuple[str, str, str], str] = {}
    for path in paths:
        for line, cells in _cells(path):
            rating = _rating(cells["rating"], scale)
            if rating is None:
                continue
            if rating == "":
                message = f"expected a number, yes or no, found '{cells['rating'][:40]}'"
                log.error(path, message, line, "rating")
                continue
            record = _record(path, line, cells, rows, log)
            if record is None:
                continue
            who, place = cells.get("rater") or path, f"{path}:{line}"
            before = raters.setdefault((record["id"], cells["rubric"], who), place)
            if before != place:
                log.error(path, f"{who} has rated this answer at {before}", line, "rater")
                continue
            _, _, merged = records.setdefault(record["id"], (path, line, record))
            merged["ratings"].setdefault(cells["rubric"], []).append(rating)
    yield from records.values()


def _cells(path: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line of a row, cells by column). Raises DataError for a file that is no such table."""
    text = _decode(path)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = [name.strip().lower() for name in next(reader, [])]
    for name in NEEDED:
        if name not in header:
            raise DataError(f"{path}:1: no column '{name}'{did_you_mean(name, header)}; expected {', '.join(COLUMNS)}")
    line = reader.line_num + 1
    for row in reader:
        if any(row):
            texts = [*map(plain_cell, row), *[""] * (len(header) - len(row))]
            yield line, dict(zip(header, texts, strict=False))
        line = reader.line_num + 1


def _decode(path: str) -> str:
    try:
        data = expand(path).read_bytes()
    except OSError as error:
        raise DataError(f"LABELS: {path}: {error.strerror}") from None
    for encoding in ("utf-8-sig", "cp949"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise DataError(f"LABELS: {path}: expected UTF-8 or CP949; save it as 'CSV UTF-8'")


def plain_cell(cell: str) -> str:
    """The text of a cell, without the apostrophe by which `csv_of` prevents a formula."""
    return cell[1:] if cell[:1] == "'" and may_be_formula(cell[1:]) else cell


def _rating(cell: str, scale: Scale) -> float | str | None:
    """The rating; None for an empty cell, "" for an invalid one."""
    text = cell.strip().casefold()
    if not text:
        return None
    if text in YES or text in NO:
        return scale.high if text in YES else scale.low
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return ""


def _record(path: str, line: int, cells: Mapping[str, str], rows: Rows | None, log: ProblemLog) -> Record | None:
    if rows is None:
        return {
            "id": cells["id"],
            "question": cells.get("question"),
            "answer": cells.get("answer"),
            "contexts": [part.strip() for part in CONTEXT.split(cells.get("contexts") or "") if part.strip()],
            "answers": [part for part in (cells.get("references") or "").split(BETWEEN) if part],
            "language": cells.get("language") or None,
            "ratings": {},
        }
    row = rows.get(cells["id"])
    if row is None:
        near = did_you_mean(cells["id"], list(rows)[:10_000])
        log.error(path, f"the run has no answer with the id '{cells['id']}'{near}", line, "id")
        return None
    return record_of(row)


def record_of(row: Mapping[str, Any]) -> Record:
    """The record of a row of per_item.jsonl, without ratings."""
    output = row["output"]
    turns = (
        turn if isinstance(turn, Mapping) else {"role": turn[0], "text": turn[1]}
        for turn in output.get("history") or ()
    )
    record = {
        "id": row["id"],
        "question": output["query"],
        "answer": output["answer"],
        "contexts": list(output.get("contexts") or ()),
        "answers": list(output.get("answers") or ()),
        "history": list(turns),
        "language": row.get("language"),
        "ratings": {},
    }
    return {name: value for name, value in record.items() if value not in (None, []) or name == "contexts"}


def sheet_row(row: Mapping[str, Any], rubric: str, pick: str) -> list[str]:
    """The cells of a case for a person to read, and the empty ones to fill."""
    record = record_of(row)
    contexts = (
        f"[{number}] {': '.join(filter(None, (context.get('title'), context.get('text'))))}"
        for number, context in enumerate(record["contexts"], start=1)
    )
    cells = {
        **{name: str(record.get(name) or "") for name in ("id", "question", "answer", "language")},
        "rubric": rubric,
        "pick": pick,
        "history": "\n".join(f"{turn['role']}: {turn['text']}" for turn in record.get("history") or ()),
        "contexts": "\n\n".join(contexts),
        "references": BETWEEN.join(record.get("answers") or ()),
    }
    return [cells.get(name, "") for name in COLUMNS]
