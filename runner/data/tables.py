"""Reads rows of tables from CSV, TSV, Excel, Parquet, JSON, JSON Lines and YAML, also in gzip and zstd.

`runner.data.columns` finds questions and answers in the rows, `runner.data.exports` recognises the forms of other
programs.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePath
from typing import Any, Literal

from runner.data.files import PACKED, parsed_yaml, read_bytes
from runner.data.jsonl import describe_value, read_json, read_jsonl
from runner.data.problems import ProblemLog
from runner.errors import RunnerError, did_you_mean, install_command

Kind = Literal["csv", "tsv", "xlsx", "parquet", "json", "jsonl", "yaml"]
Row = Mapping[str, Any]

SHOWN = {"csv": "CSV", "tsv": "TSV", "xlsx": "Excel", "parquet": "Parquet", "json": "JSON", "jsonl": "JSON Lines"}
SUFFIXES: Mapping[str, Kind] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
}
ZIP, PARQUET, OLD_EXCEL = b"PK\x03\x04", b"PAR1", b"\xd0\xcf\x11\xe0"
DELIMITERS = (",", "\t", ";", "|")
LARGEST_CELL = 1 << 30  # characters
MAX_CELLS = 20_000_000  # of a sheet, blank cells before the last filled one of a row included
LISTS = (
    "data",
    "rows",
    "results",
    "examples",
    "items",
    "samples",
    "traces",
    "records",
)  # keys of an object that may hold the rows
KOREAN = range(0xAC00, 0xD7A4)


@dataclass(frozen=True, slots=True)
class Table:
    """`rows`: (first line or None, row). `document`: the value of a JSON or YAML file that holds more than rows.
    `encoding`: of a text that is not UTF-8."""

    kind: Kind
    rows: Sequence[tuple[int | None, Row]]
    document: Any = None
    encoding: str | None = None

    @property
    def shown(self) -> str:
        """`CSV (CP949)`."""
        name = SHOWN.get(self.kind, self.kind.upper())
        return name if self.encoding is None else f"{name} ({self.encoding})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in order of appearance."""
        return tuple(dict.fromkeys(name for _, row in self.rows for name in row))


def kind_of(path: str, content: bytes = b"") -> Kind | None:
    """The kind of a file by its first bytes, else by its suffix."""
    if content.startswith(ZIP):
        return "xlsx"
    if content.startswith(PARQUET):
        return "parquet"
    name = PurePath(path)
    return SUFFIXES.get((PurePath(name.stem) if name.suffix.lower() in PACKED else name).suffix.lower())


def read_table(
    path: str,
    key: str,
    log: ProblemLog,
    error: type[RunnerError],
    *,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Table:
    """Read a table. Raises `error` with the key for an unreadable file; a bad row is logged and left out. `encoding`
    None: UTF-8 (with or without a byte order mark), UTF-16 with one, else CP949."""
    content = read_bytes(path, key, error)
    kind = kind_of(path, content)
    if content.startswith(OLD_EXCEL):
        raise error(f"{key}: {path} is an Excel file of the old form (.xls); save it as .xlsx or CSV")
    if kind is None:
        kind = "jsonl" if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else "csv"
    if not content.strip():
        raise error(f"{key}: {path} is empty")
    if kind in ("csv", "tsv"):
        text, used = decode(content, path, key, error, encoding)
        return Table(kind, list(_csv_rows(text, kind, path, key, log, error)), encoding=used)
    if kind == "xlsx":
        return Table(kind, _excel_rows(content, path, key, error, sheet))
    if kind == "parquet":
        return Table(kind, _parquet_rows(content, path, key, error))
    return _parse(kind, content, path, key, log, error)


def decode(
    content: bytes, path: str, key: str, error: type[RunnerError], encoding: str | None = None
) -> tuple[str, str | None]:
    """The text, and its encoding if it is not UTF-8."""
    names = [encoding] if encoding else ["utf-8-sig", "cp949"]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) and not encoding:
        names = ["utf-16"]
    for name in names:
        try:
            text = content.decode(name)
        except LookupError:
            raise error(f"{key}: no encoding '{name}'; expected one such as utf-8, cp949 or utf-16") from None
        except UnicodeDecodeError:
            continue
        if name != "cp949" or encoding or any(ord(character) in KOREAN for character in text):
            return text, None if name == "utf-8-sig" else name.upper()
    tried = f"not {encoding}" if encoding else "neither UTF-8 nor CP949 (Excel in Korean)"
    raise error(f"{key}: {path} is {tried}; name its encoding: encoding=NAME") from None


# --- text with delimiters ---------------------------------------------------------------------------


def _csv_rows(
    text: str, kind: Kind, path: str, key: str, log: ProblemLog, error: type[RunnerError]
) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(LARGEST_CELL)
    names_delimiter = text[:5].lower() == "sep=," or (text[:4].lower() == "sep=" and text[4:5] in DELIMITERS)
    delimiter = text[4] if names_delimiter else "\t" if kind == "tsv" else delimiter_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: tuple[str, ...] = ()
    line = 1
    try:
        for cells in reader:
            begins, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells) or (names_delimiter and begins == 1):
                continue
            if not header:
                header = _header(cells)
            elif len(cells) > len(header):
                log.error(path, f"expected {len(header)} cells, as the header has, found {len(cells)}", begins)
            else:
                yield begins, dict(zip(header, cells, strict=False))
    except csv.Error as problem:
        is_open = "unexpected end" in str(problem)
        why = "a cell begins with a quote that is never closed" if is_open else f"not CSV: {problem}"
        raise error(f"{key}: {path}:{line}: {why}") from None


def delimiter_of(text: str) -> str:
    """The delimiter with which the first line has most cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(DELIMITERS, key=lambda each: len(next(csv.reader([first], delimiter=each), [])))


def _header(cells: Sequence[Any]) -> tuple[str, ...]:
    """The names of the columns, stripped; `column N` for a blank one, `NAME (2)` for a repeated one."""
    names: dict[str, None] = {}
    times: dict[str, int] = {}
    for number, cell in enumerate(cells, 1):
        name = unique = str(cell if cell is not None else "").strip() or f"column {number}"
        while unique in names:
            times[name] = times.get(name, 1) + 1
            unique = f"{name} ({times[name]})"
        names[unique] = None
    return tuple(names)


# --- Excel and Parquet ------------------------------------------------------------------------------


def _excel_rows(
    content: bytes, path: str, key: str, error: type[RunnerError], sheet: str | None
) -> list[tuple[int | None, Row]]:
    try:
        import openpyxl
    except ImportError:
        raise error(
            f"{key}: {path} is an Excel file, and reading one needs openpyxl: {install_command('xlsx')}"
        ) from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        names = book.sheetnames
        page = book[names[0] if sheet not in names else sheet]
        page.reset_dimensions()  # those that a file states may be any; each row has the cells that it has
        lines = enumerate(_bounded(page.iter_rows(values_only=True)), 1)
        filled_rows = [(line, cells) for line, cells in lines if any(cell not in (None, "") for cell in cells)]
    except MemoryError:
        raise
    except _TooManyCellsError as problem:
        raise error(f"{key}: {path} has more than {problem}; expected a smaller sheet, or CSV") from None
    except Exception:  # of the zip file, of XML, or of openpyxl
        raise error(f"{key}: {path} is not an Excel file that can be read") from None
    if sheet is not None and sheet not in names:
        raise error(f"{key}: {path} has no sheet '{sheet}'{did_you_mean(sheet, names)}; it has: {', '.join(names)}")
    header = _header(filled_rows[0][1]) if filled_rows else ()
    return [(line, dict(zip(header, map(plain, cells), strict=False))) for line, cells in filled_rows[1:]]


class _TooManyCellsError(Exception):
    """The limit, in words."""


def _bounded(rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """The rows of a sheet, as far as they have few enough cells: a workbook of a few kilobytes may have billions."""
    n_cells = 0
    for cells in rows:
        n_cells += len(cells)
        if n_cells > MAX_CELLS:
            raise _TooManyCellsError(f"{MAX_CELLS:,} cells")
        yield cells


def _parquet_rows(content: bytes, path: str, key: str, error: type[RunnerError]) -> list[tuple[int | None, Row]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        needs = f"{path} is a Parquet file, and reading one needs pyarrow"
        raise error(f"{key}: {needs}: {install_command('parquet')}") from None
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        if file.metadata.num_rows * file.metadata.num_columns > MAX_CELLS:
            raise error(f"{key}: {path} has more than {MAX_CELLS:,} cells; expected a smaller table, or CSV")
        rows = file.read().to_pylist()
    except (OSError, pyarrow.ArrowException) as problem:
        raise error(f"{key}: {path} is not a Parquet file that can be read: {str(problem)[:200]}") from None
    return [(None, plain(row)) for row in rows]


def plain(value: Any) -> Any:
    """A cell as JSON value: times as ISO 8601, bytes as text, NaN as null."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() else value
    return value if value is None or isinstance(value, str | int | bool) else str(value)


# --- JSON and YAML ----------------------------------------------------------------------------------


def _parse(kind: Kind, content: bytes, path: str, key: str, log: ProblemLog, error: type[RunnerError]) -> Table:
    if kind == "yaml":
        text, _ = decode(content, path, key, error, "utf-8-sig")
        document = plain(parsed_yaml(text, path, key, error))
    elif kind == "jsonl":
        return Table(kind, list(read_jsonl(path, key, log, error)))
    else:
        try:
            document = read_json(path, key, log, error)
        except RunnerError:
            lines = ProblemLog()
            rows = list(read_jsonl(path, key, lines, error))  # JSON Lines with the suffix of JSON
            if lines.errors or not rows:
                raise
            return Table("jsonl", rows)
    rows_of_whole = _rows(document)
    for place, row in enumerate(rows_of_whole):
        if not isinstance(row, dict):
            log.error(path, f"expected an object, found {describe_value(row)}", None, f"[{place}]")
    return Table(kind, [(None, row) for row in rows_of_whole if isinstance(row, dict)], document)


def _rows(document: Any) -> Sequence[Any]:
    """The rows of a list, of a table of pandas or MLflow, of columns, or of the only list in an object."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return [document]
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        names = _header(columns)
        return [dict(zip(names, row, strict=False)) if isinstance(row, list) else row for row in data]
    values = list(document.values())
    if _are_columns(values):
        return _rows_of_columns(document, range(len(values[0])))
    if values and all(isinstance(value, dict) and value for value in values) and len({tuple(v) for v in values}) == 1:
        numbered = [place for place in values[0] if str(place).isdecimal()]
        if len(numbered) == len(values[0]):
            return _rows_of_columns(document, numbered)
    return next((document[name] for name in LISTS if isinstance(document.get(name), list)), [document])


def _are_columns(values: Sequence[Any]) -> bool:
    """Whether the values are columns: lists of equal length; a single list must not hold objects, which would be
    rows."""
    if not values or not all(isinstance(value, list) for value in values) or len({len(value) for value in values}) > 1:
        return False
    return len(values) > 1 or not any(isinstance(item, dict) for item in values[0])


def _rows_of_columns(columns: Mapping[str, Any], places: Iterable[Any]) -> list[Row]:
    return [{name: values[place] for name, values in columns.items()} for place in places]
