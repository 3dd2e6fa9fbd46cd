"""Reads JSON as servers and models write it: with NaN, lone surrogates, and integers of any length."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import orjson

DIGITS = 300  # an integer with at most so many can be compared with any float


def parse_loosely(data: bytes) -> Any:
    """Raises ValueError for invalid JSON."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            return replace_surrogates(json.loads(data, parse_int=integer))
        except (ValueError, RecursionError):
            raise error from None


def integer(digits: str) -> int | float:
    """An integer. One with more digits than DIGITS becomes the largest float of its sign, which readers of whole
    numbers refuse."""
    return int(digits) if len(digits) <= DIGITS else math.copysign(sys.float_info.max, -1 if digits[0] == "-" else 1)


def replace_surrogates(value: Any) -> Any:
    """Replace each lone surrogate, which UTF-8 cannot encode, by a question mark. Raises ValueError for a value that is
    nested too deeply."""
    try:
        return _replace_surrogates(value)
    except RecursionError:
        raise ValueError("the reply is nested too deeply") from None


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(inner) for key, inner in value.items()}
    return [_replace_surrogates(inner) for inner in value] if isinstance(value, list) else value


ROUNDING = 1e-9  # a score that is outside of its range by no more is at its end

SCALES = 100  # ranges by which a score may be outside: the widest scale that judges use instead of ours is percent


class OutsideRangeError(ValueError):
    """A score that is a number, and outside of its range: it may have been meant on another scale."""


def score_in(low: float, high: float, value: Any, place: str, clamped: dict[str, float] | None = None) -> float:
    """A score in a model's reply: a number, or a number as text.

    Args:
        low: the lower end of its range.
        high: the upper end.
        value: of the reply.
        place: its name in the reply.
        clamped: takes the scores outside of their range, by place, which are set to its nearest end then.

    Returns:
        The score, from `low` to `high`.

    Raises:
        OutsideRangeError: it is outside, and there is no `clamped`.
        ValueError: it is no finite number, or so far outside that it is on no scale.
    """
    score = number_of(value)
    if score is None:
        raise ValueError(f"{place}: expected a number, got {value!r}")
    if isinstance(score, float) and not math.isfinite(score):
        raise ValueError(f"{place}: expected a finite number, got {value}")
    if not low - ROUNDING <= score <= high + ROUNDING:
        if not low - SCALES * (high - low) <= score <= high + SCALES * (high - low):
            raise ValueError(f"{place}: expected a number from {low:g} to {high:g}, got {_short_repr(value)}")
        if clamped is None:
            raise OutsideRangeError(f"{place}: expected a number from {low:g} to {high:g}, got {_short_repr(value)}")
        clamped[place] = float(score)
    return float(min(high, max(low, score)))


def whole_number(value: Any, last: int, place: str) -> int:
    """A whole number from 1 to `last`, or such a number as text. Raises ValueError for anything else."""
    number = number_of(value)
    if (
        number is None
        or number != number
        or abs(number) == math.inf
        or number != int(number)
        or not 1 <= number <= last
    ):
        raise ValueError(f"{place}: expected a number from 1 to {last}, got {value!r}")
    return int(number)


def number_of(value: Any) -> float | int | None:
    """The number, or the number in a text; None for anything else, such as true and "high". NaN and infinities are
    numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _short_repr(said: Any) -> str:
    return repr(said) if len(repr(said)) <= 40 else f"{repr(said)[:40]}…"
