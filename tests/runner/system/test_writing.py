import csv
import errno
import io
import os
from pathlib import Path

import pytest

from runner.data.label_sheets import plain_cell
from runner.system.writing import csv_of, no_place_for_a_file, os_error_text, replacing


def test_a_file_takes_the_place_of_the_old_one_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "결과.json"
    path.write_text("old")
    with replacing(path) as scratch:
        scratch.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_one_stays_where_something_is_raised_and_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as scratch:
        scratch.write_text("half of the n")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x" * 300, "x" * 300 + "/y"])
def test_no_file_has_such_a_name(name: str, tmp_path: Path) -> None:
    assert no_place_for_a_file(tmp_path / name) == f"cannot write {tmp_path / name}: File name too long"


def test_an_error_of_the_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(OSError) as raised, replacing(path) as scratch:
        scratch.symlink_to("/dev/full")
        scratch.write_text("new")
    assert os_error_text(raised.value, "somewhere") == (
        f"{path}: No space left on device; finished cases are kept; run the same command again to resume"
    )
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_another_file_is_passed_on(tmp_path: Path) -> None:
    other = tmp_path / "not there"
    with pytest.raises(FileNotFoundError) as raised, replacing(tmp_path / "a.json"):
        other.read_text()
    assert os_error_text(raised.value, "somewhere") == f"{other}: No such file or directory"


def test_a_folder_that_is_not_there_is_told_by_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "no folder" / "a.json"
    with pytest.raises(FileNotFoundError) as raised, replacing(path) as scratch:
        scratch.write_bytes(b"")
    assert os_error_text(raised.value, "somewhere") == f"{path}: No such file or directory"


def test_errors_that_name_no_file_or_have_no_number() -> None:
    quota = OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    assert os_error_text(quota, "out").startswith(f"out: {os.strerror(errno.EDQUOT)}; finished cases are kept")
    assert os_error_text(OSError("the model cannot be loaded"), "cache") == "cache: the model cannot be loaded"


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3+cmd", "'-2+3+cmd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =1", "' =1"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\ufffd=1"),
        ("＝1+1", "'＝1+1"),
        ("\ufeff=1", "'\ufffd=1"),
        ("\x1b[2J", "\ufffd[2J"),
        ("-0.5", "-0.5"),
        ("+1e-3", "+1e-3"),
        ("-", "'-"),
        ("a=1", "a=1"),
        ("{a: -1}", "{a: -1}"),
    ],
)
def test_a_spreadsheet_runs_nothing_of_a_table(cell: str, written: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_of([[cell, -0.5, None, 3]]), newline=""))
    assert row == [written, "-0.5", "", "3"]


@pytest.mark.parametrize(
    "text", ["'tis wrong", "'", "''", "=1+1", "'=1+1", "''=x", "-0.5", "-x", "@home", "'한국'", " '-3"]
)
def test_a_cell_is_read_as_it_was_written(text: str) -> None:
    """A person's own apostrophe stays."""
    (row,) = csv.reader(io.StringIO(csv_of([[text]]), newline=""))
    assert [plain_cell(cell) for cell in row] == [text]
