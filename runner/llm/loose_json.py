"""JSON as servers and models write it: with NaN, half of a character, and integers of any length."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import orjson

DIGITS = 300  # of an integer that any float can be compared with


def loosely(data: bytes) -> Any:
    """Raises ValueError for what is no JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            return whole(json.loads(data, parse_int=integer))
        except (ValueError, RecursionError):
            raise error from None


def integer(digits: str) -> int | float:
    """One that is longer than any number that is used: the largest float of its sign, which is no whole number to those
    who ask for one."""
    return int(digits) if len(digits) <= DIGITS else math.copysign(sys.float_info.max, -1 if digits[0] == "-" else 1)


def whole(value: Any) -> Any:
    """With a question mark for each half of a character, which no file and no server takes. Raises ValueError for what
    is nested too deeply."""
    try:
        return _whole(value)
    except RecursionError:
        raise ValueError("the reply is nested too deeply") from None


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value
