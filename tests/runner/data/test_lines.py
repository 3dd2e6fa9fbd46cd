"""Reading JSON Lines: what bytes a file may have, and what is said about those it may not have."""

import io
import tempfile
from pathlib import Path
from typing import Any

import jsonlines
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.data.jsonl import describe_value, read_jsonl
from runner.data.problems import ProblemLog
from runner.errors import CorpusError, DataError


def read(path: Path, content: bytes) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    file = path / "x.jsonl"
    file.write_bytes(content)
    log = ProblemLog()
    lines = list(read_jsonl(str(file), "dataset.queries", log, DataError))
    return lines, [str(problem).removeprefix(str(path) + "/") for problem in log.problems]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'{"a":1}\n{"a":2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        (b'{"a":1}', [(1, {"a": 1})]),
        (b'\xef\xbb\xbf{"a":1}\n', [(1, {"a": 1})]),
        (b'{"a":1}\r\n\r\n{"a":2}\r\n', [(1, {"a": 1}), (3, {"a": 2})]),
        (b'\n  \n\t\n{"a":1}\n\n', [(4, {"a": 1})]),
        (b'  {"a":1}  \n', [(1, {"a": 1})]),
        (b'{"a":1}\n\xef\xbb\xbf{"a":2}\n', [(1, {"a": 1}), (2, {"a": 2})]),  # two files put together
        ('{"글":"한글 😀 \u2028 줄"}\n'.encode(), [(1, {"글": "한글 😀 \u2028 줄"})]),
        (b'{"a":"\\ud83d\\ude00"}\n', [(1, {"a": "😀"})]),
        (b"", []),
        (b"\xef\xbb\xbf", []),
    ],
)
def test_good_lines(tmp_path: Path, content: bytes, lines: list[Any]) -> None:
    assert read(tmp_path, content) == (lines, [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"a":"\xff"}', "not UTF-8: byte 0xff at offset 6 of the line"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8: byte 0xed at offset 6 of the line"),
        (b'{"a":NaN}', "not JSON: NaN is not a JSON number"),
        (b'{"a":-Infinity}', "not JSON: -Infinity is not a JSON number"),
        (b'{"a":1e999}', 'not JSON: text "1e999" is too large for a number'),
        (b'{"a":1' + b"0" * 400 + b"}", 'not JSON: text "1' + "0" * 38 + '…" is too large for a number'),
        (b'{"a":' + b"9" * 5000 + b"}", 'not JSON: text "' + "9" * 39 + '…" is too large for a number'),
        (b'{"a":1', "not JSON: Expecting ',' delimiter at column 7"),
        (b"{'a':1}", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b'{"a":"\x00"}', "not JSON: Invalid control character at column 7"),
        (b"\x00\x00\x00", "not JSON: Expecting value at column 1"),
        (b'\x1e{"a":1}', "not JSON: Expecting value at column 1"),
        (b"[1, 2]", "expected a JSON object, found a list of 2"),
        (b'"text"', 'expected a JSON object, found text "text"'),
        (b"null", "expected a JSON object, found null"),
        (b'{"a":1}{"a":2}', "not JSON: Extra data at column 8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_lines_are_left_out_and_the_rest_is_read(tmp_path: Path, line: bytes, message: str) -> None:
    lines, problems = read(tmp_path, b'{"a":1}\n' + line + b'\n{"a":3}\n')
    assert lines == [(1, {"a": 1}), (3, {"a": 3})]
    assert problems == [f"x.jsonl:2: {message}"]


def test_half_a_character_is_replaced_with_a_warning(tmp_path: Path) -> None:
    lines, problems = read(tmp_path, b'{"a":"x\\ud800y","\\udc00":["\\ud800"],"b":"\\u00e9\\u0000","c":1.5}\n')
    assert lines == [(1, {"a": "x\ufffdy", "\ufffd": ["\ufffd"], "b": "é\0", "c": 1.5})]
    assert problems == ["x.jsonl:1: half a character (a lone surrogate) is replaced by U+FFFD"]


def test_a_line_of_ten_megabytes(tmp_path: Path) -> None:
    lines, problems = read(tmp_path, b'{"a":"' + b"x" * 10_000_000 + b'"}\n{"a":2}\n')
    assert [(number, len(str(record["a"]))) for number, record in lines] == [(1, 10_000_000), (2, 1)]
    assert problems == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=5))
def test_what_jsonlines_writes_is_what_is_read(records: list[dict[str, Any]]) -> None:
    buffer = io.StringIO()
    with jsonlines.Writer(buffer) as writer:
        writer.write_all(records)
    with tempfile.TemporaryDirectory() as folder:
        assert read(Path(folder), buffer.getvalue().encode()) == (list(enumerate(records, 1)), [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_utf16_file_is_named_as_such(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b"\xfe\xff" * (encoding == "utf-16-be") + '{"a":1}\n'.encode(encoding))
    with pytest.raises(CorpusError) as raised:
        list(read_jsonl(str(file), "dataset.corpus", ProblemLog(), CorpusError))
    assert str(raised.value) == f"dataset.corpus: {file} is UTF-16; save it as UTF-8"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ("x" * 50, 'text "' + "x" * 39 + '…"'),
        (3, "number 3"),
        (0.5, "number 0.5"),
        ([], "an empty list"),
        ([1], "a list of 1"),
        ({}, "an object"),
    ],
)
def test_values_in_messages(value: object, text: str) -> None:
    assert describe_value(value) == text


HINT = "not JSON Lines; dataset=csv reads it, and `python -m runner import` makes JSON Lines of questions and answers"


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("id,query,답변\n1,2,3\n".encode(), "a CSV file"),
        ("질문;답변\n1;2\n".encode("cp949"), "a CSV file"),
        (b'\xef\xbb\xbf"id"\t"query"\n', "a CSV file"),
        (b"PK\x03\x04\x14\x00", "an Excel file"),
        (b"PAR1\x15\x04", "a Parquet file"),
    ],
)
def test_a_table_is_named_as_one(tmp_path: Path, content: bytes, form: str) -> None:
    with pytest.raises(DataError) as raised:
        read(tmp_path, content)
    assert str(raised.value) == f"dataset.queries: {tmp_path}/x.jsonl is {form}, {HINT}"


def test_a_bad_first_line_is_no_table(tmp_path: Path) -> None:
    assert read(tmp_path, b'nonsense, of "a": kind\n{"a":1}\n')[0] == [(2, {"a": 1})]
