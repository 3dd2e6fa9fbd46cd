"""JSON Lines: one object a line, read as a stream.

A byte order mark, CRLF and blank lines are taken as they come. A line that is not UTF-8, not JSON or
not an object is an error and is left out; a lone surrogate (`\\ud800` without its partner) becomes U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import orjson

from runner.data.files import open_file
from runner.data.problems import ProblemLog
from runner.errors import RunnerError

BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_jsonl(path: str, key: str, log: ProblemLog, error: type[RunnerError]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) in file order. `error` is raised for a file that cannot be read at all."""
    with open_file(path, key, error) as file:
        try:
            for number, line in enumerate(file, 1):
                if number == 1 and line.startswith(_UTF16):
                    raise error(f"{key}: {path} is UTF-16; save it as UTF-8")
                record = _parsed(line, path, number, log)
                if record is not None:
                    yield number, record
        except OSError as problem:
            raise error(f"{key}: cannot read {path}: {problem.strerror}") from None


def _parsed(line: bytes, path: str, number: int, log: ProblemLog) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        line = line.removeprefix(BOM)
        if not line.strip():
            return None
        try:
            value = _parsed_slowly(line, path, number, log)
        except ValueError as problem:
            log.error(path, str(problem), number)
            return None
    if isinstance(value, dict):
        return value
    log.error(path, f"expected a JSON object, found {described(value)}", number)
    return None


def _parsed_slowly(line: bytes, path: str, number: int, log: ProblemLog) -> Any:
    """What the fast parser refuses: says why (ValueError), or repairs surrogates with a warning."""
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:
        raise ValueError(f"not UTF-8: byte 0x{line[problem.start]:02x} at offset {problem.start} of the line") from None
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        raise ValueError(f"not JSON: {problem.msg} at column {problem.colno}") from None
    except RecursionError:
        raise ValueError("not usable: nested too deeply") from None
    repaired, count = _SURROGATE.subn("\ufffd", json.dumps(value, ensure_ascii=False))
    try:
        value = orjson.loads(repaired)
    except orjson.JSONDecodeError as problem:
        raise ValueError(f"not JSON: {problem.msg}") from None
    if count:
        log.warning(path, "lone surrogates (half a character) replaced by U+FFFD", number)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name} is not a JSON number")


def described(value: object) -> str:
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
        case dict():
            return "an object"
    return type(value).__name__
