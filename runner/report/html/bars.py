"""Small drawings that stand beside numbers, in SVG. Shapes have classes; page.css colours them for light and dark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.report.html.markup import Html, tag
from runner.report.metric import Value

WIDTH, SIGNED, HEIGHT = 132, 100, 14


def interval_bar(value: Value, width: int = WIDTH) -> Html:
    """A value on a line from 0 to 1 with its 95 % interval; nothing where it is missing or no share. The numbers
    stand beside it as text."""
    if value.value is None or not 0 <= value.value <= 1:
        return Html("")
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    middle = HEIGHT / 2
    left, point, right = (_x(share, width) for share in (low, value.value, high))
    shapes = [
        tag("line", x1=0, x2=width, y1=middle, y2=middle, class_="track"),
        tag("rect", x=left, y=middle - 3, width=max(right - left, 0.0), height=6, class_="range"),
        tag("line", x1=point, x2=point, y1=1, y2=HEIGHT - 1, class_="point"),
    ]
    return _svg(shapes, width)


def difference_bar(entry: Mapping[str, Any], widest: float, margin: float) -> Html:
    """A difference on a line from -`widest` to `widest` with its interval; the band around 0 is what hardly matters."""

    def x(value: float) -> float:
        return _x((value / widest + 1) / 2, SIGNED)

    if entry["difference"] is None:
        return Html("")
    low = entry["difference"] if entry["ci_low"] is None else entry["ci_low"]
    high = entry["difference"] if entry["ci_high"] is None else entry["ci_high"]
    shapes = [
        tag("rect", x=x(-margin), y=0, width=x(margin) - x(-margin), height=HEIGHT, class_="band"),
        tag("line", x1=x(0), x2=x(0), y1=0, y2=HEIGHT, class_="zero"),
        tag("rect", x=x(low), y=HEIGHT / 2 - 3, width=x(high) - x(low), height=6, class_="range"),
        tag("line", x1=x(entry["difference"]), x2=x(entry["difference"]), y1=1, y2=HEIGHT - 1, class_="point"),
    ]
    return tag("span", _svg(shapes, SIGNED), class_=f"drawn {verdict_class(entry)}")


def verdict_class(entry: Mapping[str, Any]) -> str:
    """How page.css colours a verdict, or that there is none."""
    return f"verdict {entry['verdict'] or 'none'}"


def share_bar(start: float, length: float, kind: str) -> Html:
    """A bar over part of the width of its cell; `start` and `length` are shares of it."""
    bar = tag("rect", x=start * 1000, y=0, width=max(length * 1000, 2.0 if length else 0.0), height=10, class_=kind)
    return tag("svg", bar, viewBox="0 0 1000 10", preserveAspectRatio="none", class_="share", aria_hidden="true")


def _svg(shapes: list[Html], width: int) -> Html:
    box = f"0 0 {width} {HEIGHT}"
    return tag("svg", *shapes, width=width, height=HEIGHT, viewBox=box, class_="bar", aria_hidden="true")


def _x(share: float, width: int) -> float:
    """Half a line from either end, so that 0 and 1 are drawn whole."""
    return 1 + min(max(share, 0.0), 1.0) * (width - 2)
