"""Rows of every kind of file, in the encodings and forms that people have them in."""

import gzip
import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow
import pytest
from openpyxl import Workbook
from pyarrow import parquet

from runner.data.problems import ProblemLog
from runner.data.tables import Table, read_table
from runner.errors import DataError

TEXT = "질문,답변\n환불은?,14일\n"
ROWS = [{"질문": "환불은?", "답변": "14일"}]


def table(path: Path, content: bytes | str | None = None, **settings: Any) -> Table:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(str(path), "FILE", ProblemLog(strict=True), DataError, **settings)


def rows(path: Path, content: bytes | str | None = None, **settings: Any) -> list[Any]:
    return [row for _, row in table(path, content, **settings).rows]


def refused(path: Path, content: bytes | str | None, **settings: Any) -> str:
    with pytest.raises(DataError) as raised:
        table(path, content, **settings)
    return str(raised.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "CSV"), ("utf-8-sig", "CSV"), ("cp949", "CSV (CP949)"), ("utf-16", "CSV (UTF-16)")],
)
def test_encodings_of_excel_in_korean(tmp_path: Path, encoding: str, shown: str) -> None:
    read = table(tmp_path / "x.csv", TEXT.encode(encoding))
    assert ([row for _, row in read.rows], read.shown) == (ROWS, shown)


def test_an_encoding_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert rows(path, "q,a\né,ü\n".encode("latin-1"), encoding="latin-1") == [{"q": "é", "a": "ü"}]
    unknown = "FILE: x.csv is neither UTF-8 nor CP949 (Excel in Korean); name its encoding: encoding=NAME"
    assert refused(path, b"q,a\n\xff\xff,x\n") == unknown
    assert refused(path, TEXT.encode("cp949"), encoding="utf-8").startswith("FILE: x.csv is not utf-8; name its enc")
    assert refused(path, TEXT, encoding="klingon").startswith("FILE: no encoding 'klingon'; expected one such as utf-8")


@pytest.mark.parametrize(
    "text", [TEXT, TEXT.replace(",", "\t"), TEXT.replace(",", ";"), "sep=;\n" + TEXT.replace(",", ";")]
)
def test_delimiters(tmp_path: Path, text: str) -> None:
    assert rows(tmp_path / "x.csv", text) == ROWS


def test_quotes_and_lines_within_cells(tmp_path: Path) -> None:
    read = table(tmp_path / "x.csv", 'q,a\r\n"one\r\ntwo, ""three""",x\r\n\r\nlast,\r\nshort\r\n')
    assert list(read.rows) == [
        (2, {"q": 'one\r\ntwo, "three"', "a": "x"}),
        (5, {"q": "last", "a": ""}),
        (6, {"q": "short"}),
    ]


def test_rows_and_quotes_that_are_wrong(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert refused(path, 'q,a\n1,2\n"open,2\n3,4\n') == "FILE: x.csv:3: a cell begins with a quote that is never closed"
    assert refused(path, 'q,a\n"x"y,2\n') == "FILE: x.csv:2: not CSV: ',' expected after '\"'"
    assert refused(path, "") == "FILE: x.csv is empty"
    log = ProblemLog()
    path.write_text("q,a\n1,2,3\n4,5\n", encoding="utf-8")
    read = read_table(str(path), "FILE", log, DataError)
    assert [row for _, row in read.rows] == [{"q": "4", "a": "5"}]
    assert [str(problem) for problem in log.errors] == [f"{path}:2: expected 2 cells, as the header has, found 3"]


def test_names_of_columns(tmp_path: Path) -> None:
    read = table(tmp_path / "x.csv", ",q , a,a\n1,2,3,4\n")
    assert read.columns == ("column 1", "q", "a", "a (2)")
    assert table(tmp_path / "y.csv", "a,a (2),a,a\n1,2,3,4\n").columns == ("a", "a (2)", "a (3)", "a (4)")


def test_a_header_of_many_columns_is_read(tmp_path: Path) -> None:
    """In one pass, not in one for each column."""
    read = table(tmp_path / "x.csv", ",".join(f"c{n}" for n in range(40_000)) + "\n" + ",".join("1" * 40_000) + "\n")
    assert len(read.columns) == 40_000


def test_a_cell_of_a_megabyte(tmp_path: Path) -> None:
    assert len(rows(tmp_path / "x.csv", "q,a\nx," + "y" * 1_000_000 + "\n")[0]["a"]) == 1_000_000


def test_excel(tmp_path: Path) -> None:
    book, path = Workbook(), tmp_path / "x.xlsx"
    sheet = book.active
    for cells in ([], ["질문", "답변", "일시", "점수"], ["환불은?", "14일", datetime(2026, 3, 1, 9), 4.0], [None] * 4):
        sheet.append(cells)
    book.create_sheet("다른").append(["q"])
    book.save(path)
    assert rows(path) == [{"질문": "환불은?", "답변": "14일", "일시": "2026-03-01T09:00:00", "점수": 4}]
    assert rows(path, sheet="다른") == []
    with pytest.raises(DataError, match=r"has no sheet '다름'.*; it has: Sheet, 다른$"):
        table(path, sheet="다름")
    assert refused(tmp_path / "y.xlsx", b"PK\x03\x04 no zip") == "FILE: y.xlsx is not an Excel file that can be read"
    with ZipFile(path) as whole, ZipFile(tmp_path / "z.xlsx", "w") as damaged:
        for name in whole.namelist():
            damaged.writestr(name, whole.read(name)[: -100 if name.endswith("sheet1.xml") else None])
    with pytest.raises(DataError, match=r"^FILE: \S*z\.xlsx is not an Excel file that can be read$"):
        table(tmp_path / "z.xlsx")
    old = "FILE: y.xls is an Excel file of the old form (.xls); save it as .xlsx or CSV"
    assert refused(tmp_path / "y.xls", b"\xd0\xcf\x11\xe0\xa1\xb1") == old


def test_excel_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    message = refused(tmp_path / "x.xlsx", b"PK\x03\x04")
    assert message.startswith("FILE: x.xlsx is an Excel file, and reading one needs openpyxl: pip install ")
    assert "[xlsx]" in message


def test_parquet_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    message = refused(tmp_path / "x.parquet", b"PAR1 and nothing")
    assert message.startswith("FILE: x.parquet is a Parquet file, and reading one needs pyarrow: pip install ")
    assert "[parquet]" in message


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x"
    columns = {"q": ["a", None], "docs": [["x", "y"], []], "n": [1.0, float("nan")], "t": [datetime(2026, 3, 1), None]}
    parquet.write_table(pyarrow.table(columns), path)
    assert rows(path) == [
        {"q": "a", "docs": ["x", "y"], "n": 1, "t": "2026-03-01T00:00:00"},
        {"q": None, "docs": [], "n": None, "t": None},
    ]
    message = refused(tmp_path / "y.parquet", b"PAR1 and nothing")
    assert message.startswith("FILE: y.parquet is not a Parquet file that can be read: ")


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        {"data": ROWS},
        {"meta": 1, "results": ROWS},
        {"columns": ["질문", "답변"], "data": [["환불은?", "14일"]]},
        {"질문": ["환불은?"], "답변": ["14일"]},
        {"질문": {"0": "환불은?"}, "답변": {"0": "14일"}},
        ROWS[0],
    ],
)
def test_forms_of_json(tmp_path: Path, value: Any) -> None:
    assert rows(tmp_path / "x.json", json.dumps(value)) == ROWS


def test_json_lines_by_any_name(tmp_path: Path) -> None:
    text = "\ufeff" + json.dumps(ROWS[0]) + "\n" + json.dumps(ROWS[0]) + "\n"
    assert rows(tmp_path / "x.json", text) == rows(tmp_path / "x.log", text) == rows(tmp_path / "x.jsonl", text)
    assert "not JSON" in refused(tmp_path / "x.json", "[{")


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed(tmp_path: Path, ending: str) -> None:
    data = TEXT.encode("cp949")
    packed = gzip.compress(data) if ending == "gz" else pyarrow.compress(data, codec="zstd", asbytes=True)
    assert rows(tmp_path / f"x.csv.{ending}", packed) == ROWS
    assert rows(tmp_path / "x.csv", packed) == ROWS  # whatever the name
    kind = "gzip" if ending == "gz" else "zstd"
    message = f"FILE: cannot read x.csv.{ending}: its {kind} data are damaged or cut off"
    assert refused(tmp_path / f"x.csv.{ending}", packed[:-6]) == message


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:XFD1048576"/>'
    "<sheetData>{rows}</sheetData></worksheet>"
)


def workbook(path: Path, rows: str) -> Path:
    """With this in place of the rows of its only sheet."""
    book = Workbook()
    book.active.append(["q", "a"])
    book.save(path.with_suffix(".whole"))
    with ZipFile(path.with_suffix(".whole")) as whole, ZipFile(path, "w", ZIP_DEFLATED) as bomb:
        for name in whole.namelist():
            text = SHEET.format(rows=rows).encode() if name.endswith("sheet1.xml") else whole.read(name)
            bomb.writestr(name, text)
    return path


def test_a_workbook_has_the_cells_that_it_has_not_those_that_it_states(tmp_path: Path) -> None:
    """A few kilobytes that state a billion cells held a process for minutes."""
    cell = '<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'
    header = "".join(cell.format(place=f"{letter}1", text=letter) for letter in "AB")
    filled = "".join(f'<row r="{n}">{cell.format(place=f"A{n}", text="x")}</row>' for n in range(2, 400))
    began = time.process_time()
    assert len(rows(workbook(tmp_path / "x.xlsx", f'<row r="1">{header}</row>{filled}'))) == 398
    wide = "".join(f'<row r="{n}">{cell.format(place=f"XFD{n}", text="x")}</row>' for n in range(2, 4000))
    told = refused(workbook(tmp_path / "y.xlsx", f'<row r="1">{header}</row>{wide}'), None)
    assert told == "FILE: y.xlsx has more than 20,000,000 cells; expected a smaller sheet, or CSV"
    assert time.process_time() - began < 20
