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


SLACK = 0.05  # share of a range by which a score may be outside of it, and is set to its end


def score_in(low: float, high: float, said: Any, place: str) -> float:
    """A score as a model says it: a number, or a number as text. Raises ValueError for anything else, and for one that
    is further outside of its range than SLACK: it was meant on another scale."""
    score = number_of(said)
    if score is None:
        raise ValueError(f"{place}: expected a number, got {said!r}")
    if isinstance(score, float) and not math.isfinite(score):
        raise ValueError(f"{place}: expected a finite number, got {said}")
    slack = SLACK * (high - low) + 1e-9
    if not low - slack <= score <= high + slack:
        raise ValueError(f"{place}: expected a number from {low:g} to {high:g}, got {_short(said)}")
    return float(min(high, max(low, score)))


def whole_number(said: Any, last: int, place: str) -> int:
    """A number from 1 on, as text perhaps. Raises ValueError."""
    number = number_of(said)
    if (
        number is None
        or number != number
        or abs(number) == math.inf
        or number != int(number)
        or not 1 <= number <= last
    ):
        raise ValueError(f"{place}: expected a number from 1 to {last}, got {said!r}")
    return int(number)


def number_of(said: Any) -> float | int | None:
    """None for what is no number, such as true and "high"; NaN and infinities are."""
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        return float(said) if isinstance(said, str) else said
    except ValueError:
        return None


def _short(said: Any) -> str:
    return repr(said) if len(repr(said)) <= 40 else f"{repr(said)[:40]}…"
