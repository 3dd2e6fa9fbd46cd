"""Metrics against what a sweep varied, with their intervals, as an SVG drawing with a legend in text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runner.report.html.markup import Html, joined, tag
from runner.report.metric import Value

WIDE, NARROW, HEIGHT = 640, 360, 280
LEFT, RIGHT, TOP, BOTTOM = 38, 14, 12, 40  # room for the names of the axes
STYLES = 5  # line styles in page.css; each has its own mark, so that lines can be told apart without colours
APART = 5.0  # pixels between the intervals of two lines at one place
MARK = 3.6


def plot(
    x: str,
    places: Sequence[int | float | str],
    lines: Sequence[Sequence[Value]],
    width: int,
    *,
    connected: bool = False,
) -> Html:
    """Each line has a value for each place. Numbers on the x axis stand where they are, names side by side, without
    lines between them unless they are an order (`connected`). The numbers stand in a table beside the drawing."""
    numbers = [place for place in places if isinstance(place, int | float)]
    is_number = len(numbers) == len(places)
    spots = _spread(numbers) if is_number else [(n + 0.5) / len(places) for n in range(len(places))]
    pixels = [LEFT + 24 + spot * (width - LEFT - RIGHT - 48) for spot in spots]
    shapes = [*_axes(x, places, pixels, width)]
    for number, line in enumerate(lines):
        shift = (number - (len(lines) - 1) / 2) * APART
        shapes.append(_line(line, [pixel + shift for pixel in pixels], number, is_number or connected))
    box = f"0 0 {width} {HEIGHT}"
    return tag("svg", *shapes, viewBox=box, width=width, height=HEIGHT, class_="plot", aria_hidden="true")


def legend(names: Sequence[str]) -> Html:
    """The lines in their order."""
    return tag("ul", *(tag("li", _sample(number), name) for number, name in enumerate(names)), class_="legend")


def _spread(numbers: Sequence[int | float]) -> list[float]:
    """0..1; 0.5 for a single number."""
    low, high = min(numbers), max(numbers)
    return [(number - low) / (high - low) if high > low else 0.5 for number in numbers]


def _axes(x: str, places: Sequence[int | float | str], pixels: Sequence[float], width: int) -> Iterator[Html]:
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        yield tag("line", x1=LEFT, x2=width - RIGHT, y1=_y(tick), y2=_y(tick), class_="track")
        yield tag("text", f"{tick:.1f}", x=LEFT - 8, y=_y(tick) + 4, text_anchor="end")
    for place, pixel in zip(places, pixels, strict=True):
        yield tag("text", str(place), x=pixel, y=HEIGHT - BOTTOM + 18, text_anchor="middle")
    yield tag("text", x, x=(LEFT + width - RIGHT) / 2, y=HEIGHT - 4, text_anchor="middle", class_="axis")


def _line(values: Sequence[Value], pixels: Sequence[float], number: int, connected: bool) -> Html:
    known = [
        (pixel, value, value.value)
        for pixel, value in zip(pixels, values, strict=True)
        if value.value is not None and 0 <= value.value <= 1
    ]
    marks = [mark for pixel, value, height in known for mark in _point(pixel, value, height, number)]
    if connected and len(known) > 1:
        path = " ".join(f"{pixel:.1f},{_y(height):.1f}" for pixel, _, height in known)
        marks.insert(0, tag("polyline", points=path))
    return tag("g", *marks, class_=f"line s{number % STYLES + 1}")


def _point(pixel: float, value: Value, height: float, number: int) -> Iterator[Html]:
    if value.low is not None and value.high is not None:
        yield tag("line", x1=pixel, x2=pixel, y1=_y(value.low), y2=_y(value.high), class_="whisker")
        for end in (value.low, value.high):
            yield tag("line", x1=pixel - 3, x2=pixel + 3, y1=_y(end), y2=_y(end), class_="whisker")
    yield _mark(number, pixel, _y(height))


def _mark(number: int, x: float, y: float) -> Html:
    """Disc, square, triangle, diamond, ring."""
    kind = number % STYLES
    if kind in (0, 4):
        return tag("circle", cx=x, cy=y, r=MARK, class_="ring" if kind == 4 else None)
    corners = {
        1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        2: ((0, -1.25), (1.2, 0.95), (-1.2, 0.95)),
        3: ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    }[kind]
    scale = MARK * (0.9 if kind == 1 else 1)
    return tag("polygon", points=" ".join(f"{x + dx * scale:.1f},{y + dy * scale:.1f}" for dx, dy in corners))


def _sample(number: int) -> Html:
    shapes = joined([tag("polyline", points="0,7 26,7"), _mark(number, 13, 7)])
    group = tag("g", shapes, class_=f"line s{number % STYLES + 1}")
    return tag("svg", group, width=26, height=14, viewBox="0 0 26 14", class_="plot-key", aria_hidden="true")


def _y(value: float) -> float:
    return TOP + (1 - min(max(value, 0.0), 1.0)) * (HEIGHT - TOP - BOTTOM)
