r"""JSON Lines: one object a line, read as a stream.

A byte order mark, CRLF and blank lines are accepted. A line that is not UTF-8, not JSON or not an object is an error
and is left out; a lone surrogate (`\ud800` without its partner) becomes U+FFFD.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any, NoReturn

import jsonlines
import orjson

from runner.data.files import DEEPEST, PACKED, is_deep, open_file, read_bytes
from runner.data.problems import ProblemLog
from runner.errors import RunnerError

BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_TABLES = {b"PK\x03\x04": "an Excel file", b"PAR1": "a Parquet file"}
_NAME = re.compile(r"[^\W\d][\w .()/-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_jsonl(path: str, key: str, log: ProblemLog, error: type[RunnerError]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) in file order. Raises `error` for an unreadable file."""
    return ((number, record) for number, _, record in placed_jsonl(path, key, log, error))


def placed_jsonl(
    path: str, key: str, log: ProblemLog, error: type[RunnerError]
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Like `read_jsonl`, with the byte offset of the line as second value."""
    offset, number, line = 0, 0, b""

    def lines(file: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal number, line
        for number, line in enumerate(file, 1):
            if number == 1 and (form := _other_form(path, line)):
                raise error(f"{key}: {path} is {form}")
            yield line

    def load(_: str | bytes) -> Any:
        return _load(line)  # in place of the text that jsonlines made of it: orjson is faster with bytes

    with open_file(path, key, error) as file:
        reader = jsonlines.Reader(lines(file), loads=load)
        while True:
            try:
                record: dict[str, Any] | None = reader.read(type=dict)
            except EOFError:
                return
            except jsonlines.InvalidLineError:
                record = parsed_line(line, path, number, log)
            except OSError as problem:
                raise error(f"{key}: cannot read {path}: {problem.strerror}") from None
            if record is not None:
                yield number, offset, record
            offset += len(line)


def _other_form(path: str, line: bytes) -> str | None:
    """The form of a file whose first line is no JSON Lines, and how to convert it."""
    if line.startswith(_UTF16):
        return "UTF-16; save it as UTF-8"
    name = PurePath(path.lower())
    ending = (name.with_suffix("") if name.suffix in PACKED else name).suffix
    table = next((form for start, form in _TABLES.items() if line.startswith(start)), None)
    if table is None and not line.removeprefix(BOM).lstrip().startswith(b"{"):
        table = "a CSV file" if ending in (".csv", ".tsv") or _is_header(line.removeprefix(BOM)) else None
    hint = "dataset=csv reads it, and `python -m runner import` makes JSON Lines of questions and answers"
    return table and f"{table}, not JSON Lines; {hint}"


def _is_header(line: bytes) -> bool:
    """Whether a line holds column names, in UTF-8 or CP949."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("cp949", "replace")
    cells = max((text.strip().split(delimiter) for delimiter in ",\t;"), key=len)
    return len(cells) > 1 and all(_NAME.fullmatch(cell.strip(' "')) for cell in cells)


def _load(content: bytes) -> Any:
    """Parse fast. Raises ValueError for a value that is nested too deeply, JSONDecodeError for all that orjson refuses,
    lone surrogates included."""
    value = orjson.loads(content)
    if content.count(b"[") + content.count(b"{") > DEEPEST and is_deep(value):
        raise ValueError("nested too deeply")
    return value


def parsed_line(line: bytes, path: str, number: int, log: ProblemLog) -> dict[str, Any] | None:
    """The object of one line; None, and an error in the log, for a line without one."""
    try:
        value = _parse(line, path, number, log)
    except ValueError as problem:
        if line.removeprefix(BOM).strip():
            log.error(path, str(problem), number)
        return None
    if isinstance(value, dict):
        return value
    log.error(path, f"expected a JSON object, found {describe_value(value)}", number)
    return None


def read_json(path: str, key: str, log: ProblemLog, error: type[RunnerError]) -> Any:
    """Read a file with one JSON value. Raises `error` for an unreadable or invalid file."""
    content = read_bytes(path, key, error)
    try:
        return _parse(content, path, None, log)
    except ValueError as problem:
        raise error(f"{key}: {path}: {problem}") from None


def _parse(content: bytes, path: str, line: int | None, log: ProblemLog) -> Any:
    """Raises ValueError with the reason."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        value = parse_with_care(content if line is None else content.removeprefix(BOM).rstrip(), path, line, log)
    if content.count(b"[") + content.count(b"{") > DEEPEST and is_deep(value):
        raise ValueError("nested too deeply")
    return value


def parse_with_care(content: bytes, path: str, line: int | None, log: ProblemLog) -> Any:
    """Parse what the fast parser refuses: repairs lone surrogates with a warning, or raises ValueError with the
    reason."""
    try:
        text = content.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_integer)
    except UnicodeDecodeError as problem:
        byte = f"0x{content[problem.start]:02x}"
        raise ValueError(f"not UTF-8: byte {byte} at offset {problem.start} of the {_unit(line)}") from None
    except json.JSONDecodeError as problem:
        where = f"column {problem.colno}" if line is not None else f"line {problem.lineno}, column {problem.colno}"
        raise ValueError(f"not JSON: {problem.msg.removesuffix(' at')} at {where}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    repaired, count = _SURROGATE.subn("\ufffd", json.dumps(value, ensure_ascii=False))
    try:
        value = orjson.loads(repaired)
    except orjson.JSONDecodeError as problem:
        raise ValueError(f"not JSON: {problem.msg}") from None
    if count:
        log.warning(path, "half a character (a lone surrogate) is replaced by U+FFFD", line)
    return value


def _unit(line: int | None) -> str:
    return "file" if line is None else "line"


def _integer(number: str) -> int:
    _finite(number)
    return int(number)


def _finite(number: str) -> float:
    if math.isinf(float(number)):
        raise ValueError(f"not JSON: {describe_value(number)} is too large for a number")
    return float(number)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name} is not a JSON number")


def describe_value(value: object) -> str:
    """A JSON value for a message: `text "true"`, `number 3`, `a list of 2`."""
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            short = value if len(value) <= 40 else value[:39] + "…"
            return f"text {json.dumps(short, ensure_ascii=False)}"
        case int() | float():
            return f"number {value}"
        case list():
            return f"a list of {len(value)}" if value else "an empty list"
    return "an object"
