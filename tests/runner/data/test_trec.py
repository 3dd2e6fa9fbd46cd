"""Qrels and run files: what is accepted, and the exact message for what is not."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from runner.data.trec_runs import read_qrels, read_run
from runner.errors import DataError

NFD = unicodedata.normalize("NFD", "문서")


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "file.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_qrels(tmp_path):
    path = write(tmp_path, "q1 0 d1 2\nq1\t0\td2   -1\n\nq2 0 d1 0\nq1 0 d3 +1\n")
    assert read_qrels(path) == {b"q1": {b"d1": 2, b"d2": -1, b"d3": 1}, b"q2": {b"d1": 0}}


def test_a_run(tmp_path):
    path = write(tmp_path, "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 -1e-3 tag\n \nq2 Q0 d1 1 .5 tag\nq1 Q0 d3 3 7. tag\n")
    assert read_run(path) == {b"q1": {b"d1": 2.5, b"d2": -0.001, b"d3": 7.0}, b"q2": {b"d1": 0.5}}


def test_comments_and_what_follows_the_last_column_are_passed_over(tmp_path):
    """As trec_eval does it: a line says what it says in its first columns."""
    qrels = write(tmp_path, "# pooled\nq1 0 d1 2 by hand\n  # of q1\nq1 0 d2 1\n#q1 0 d3 1\nq2 0 d1 0 # none\n")
    assert read_qrels(qrels) == {b"q1": {b"d1": 2, b"d2": 1}, b"q2": {b"d1": 0}}
    run = write(tmp_path, "# BM25\nq1 Q0 d1 1 2.5 my tag\nq1 Q0 d2 2 1.5 tag\n#\nq1 Q0 d3 3 1 tag # last\n")
    assert read_run(run) == {b"q1": {b"d1": 2.5, b"d2": 1.5, b"d3": 1.0}}


@pytest.mark.parametrize("before", ["", "\ufeff", "# of a benchmark\n\n"])
def test_judgements_in_three_columns_under_a_header(tmp_path, before):
    path = write(tmp_path, f"{before}query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1\n")
    assert read_qrels(path) == {b"q1": {b"d1": 2, b"d2": 0}, b"q2": {b"d1": 1}}


def test_a_document_listed_twice_has_its_best_score(tmp_path):
    path = write(
        tmp_path,
        "q Q0 a 1 1.0 t\nq Q0 a 2 3.0 t\nq Q0 a 3 2.0 t\nq Q0 b 4 1 t\nx Q0 a 1 9 t\nq Q0 b 5 4 t\nq Q0 b 6 0 t",
    )
    assert read_run(path) == {b"q": {b"a": 3.0, b"b": 4.0}, b"x": {b"a": 9.0}}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_byte_order_mark_crlf_and_decomposed_hangul(tmp_path, line_end):
    lines = [f"질의 0 {NFD} 1", "질의 0 문서2 1", ""]
    path = write(tmp_path, b"\xef\xbb\xbf" + line_end.join(lines).encode())
    assert read_qrels(path) == {"질의".encode(): {"문서".encode(): 1, "문서2".encode(): 1}}


def test_only_ascii_space_separates_columns(tmp_path):
    path = write(tmp_path, "질의\u3000하나 0 a\u00a0b 1\n")
    assert read_qrels(path) == {"질의\u3000하나".encode(): {"a\u00a0b".encode(): 1}}


def test_spellings_of_one_id_are_one_document(tmp_path):
    path = write(tmp_path, f"q Q0 문서 1 1 t\nq Q0 {NFD} 2 5 t\n")
    assert read_run(path) == {b"q": {"문서".encode(): 5.0}}


def test_a_judgement_may_be_repeated_but_not_changed(tmp_path):
    assert read_qrels(write(tmp_path, "q 0 d 1\nq 0 d 1\n")) == {b"q": {b"d": 1}}
    path = write(tmp_path, "q 0 문서 1\nx 0 d 1\nq 0 문서 2\n")
    with pytest.raises(DataError) as raised:
        read_qrels(path)
    assert str(raised.value) == f"{path}:3: grade: '문서' for query 'q' is judged 1 in an earlier line, here 2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 d 1\nq 0 d\n", "2: expected 4 columns (query iteration document grade), found 3"),
        ("q 0 d 1\n\n\nq 0 a b 1\n", "4: grade: expected a whole number, found 'b'"),
        ("# q\nquery-id corpus-id score\nq d 1\nq d\n", "4: expected 3 columns (query document grade), found 2"),
        ("q 0 d 1\nquery-id corpus-id score\n", "2: expected 4 columns (query iteration document grade), found 3"),
        ("q 0 d 1\nq 0 d 2\n", "2: grade: 'd' for query 'q' is judged 1 in an earlier line, here 2"),
        ("q d\nq d\n", "1: expected 4 columns (query iteration document grade), found 2"),
        ("q 0 a 1\nq 0 d 1.0\n", "2: grade: expected a whole number, found '1.0'"),
        ("q 0 d 1_0\n", "1: grade: expected a whole number, found '1_0'"),
        ("q 0 d ١\n", "1: grade: expected a whole number, found '١'"),
        (b"q 0 a 1\nq 0 \xff 1\n", "2: the id '\\xff' is not UTF-8"),
        (b"q 0 a 1\nq 0 a \xff\n", "2: grade: expected a whole number, found '\\xff'"),
        (b"q\xff 0 a 1\n", "1: the id 'q\\xff' is not UTF-8"),
    ],
)
def test_bad_qrels(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(DataError) as raised:
        read_qrels(path)
    assert str(raised.value) == f"{path}:{message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q Q0 d 1 0.5\n", "1: expected 6 columns (query Q0 document rank score tag), found 5"),
        (
            "# by me\nq Q0 my d 1 0.5 tag\n",
            "2: rank: expected a whole number, found 'd' (of 7 columns the first 6 count)",
        ),
        ("q Q0 a 1 0.5 t\n\nq Q0 d 1 nan t\n", "3: score: expected a finite number, found 'nan'"),
        ("q Q0 a 1 0.5 t\nq Q0 d 1 1e999 t\n", "2: score: expected a finite number, found '1e999'"),
        ("q Q0 a 1 -inf t\n", "1: score: expected a finite number, found '-inf'"),
        ("q Q0 a 1 high t\n", "1: score: expected a finite number, found 'high'"),
        ("q Q0 a 1 1_0 t\n", "1: score: expected a finite number, found '1_0'"),
        ("q Q0 a 1 0,5 t\n", "1: score: expected a finite number, found '0,5'"),
    ],
)
def test_bad_runs(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(DataError) as raised:
        read_run(path)
    assert str(raised.value) == f"{path}:{message}"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError) as raised:
        read_qrels(tmp_path / "없음")
    assert str(raised.value) == f"file not found: {tmp_path / '없음'}"
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_run(tmp_path)


def test_an_empty_file_has_no_lines(tmp_path):
    assert read_qrels(write(tmp_path, "")) == read_run(write(tmp_path, "\n \n")) == {}
