"""The positions of the shapes in a page's drawings, in pixels. Templates draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.report.blocks import Chart, Difference
from runner.report.metric import Value

BAR, SIGNED = 132, 100  # widths of an interval and of a difference
WIDE, NARROW, HEIGHT = 640, 360, 280  # of charts
LEFT, RIGHT, TOP, BOTTOM = 38, 14, 12, 40  # room for the names of the axes
APART = 5.0  # between the intervals of two lines at one place
MARK = 3.6
CORNERS = {
    1: ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    2: ((0, -1.25), (1.2, 0.95), (-1.2, 0.95)),
    3: ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
}


@dataclass(frozen=True, slots=True)
class Span:
    """An interval on a scale, in pixels from its left end."""

    width: int
    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class MarginScale(Span):
    """An interval of a difference: zero and the practical margin on the same scale."""

    zero: float
    band_low: float
    band_high: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of an axis and where it stands, in pixels."""

    text: str
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a line in pixels, with the ends of its interval where it has one."""

    x: float
    y: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """`path`: the points joined, where they are."""

    points: Sequence[Point]
    path: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart in pixels: axes with their ticks, and lines."""

    width: int
    height: int
    left: float
    right: float
    ticks: Sequence[Tick]
    places: Sequence[Tick]
    lines: Sequence[Line]


def span_of(value: Value, width: int = BAR) -> Span | None:
    """None where the value is missing or no share."""
    if value.value is None or not 0 <= value.value <= 1:
        return None
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    return Span(width, *(_x(share, width) for share in (low, value.value, high)))


def ends_of(difference: Difference) -> MarginScale:
    """A difference in pixels; its scale reaches from -widest to +widest."""

    def x(value: float) -> float:
        return _x((value / difference.widest + 1) / 2, SIGNED)

    low = difference.value if difference.low is None else difference.low
    high = difference.value if difference.high is None else difference.high
    margin = difference.margin
    return MarginScale(SIGNED, x(low), x(difference.value), x(high), x(0), x(-margin), x(margin))


def plot_of(chart: Chart, width: int = WIDE) -> Plot:
    """Numbers on the x axis are placed by value, names at equal distances, without lines between them unless they are
    an order."""
    numbers = [place for place in chart.places if isinstance(place, int | float)]
    is_number = len(numbers) == len(chart.places)
    spots = _spread(numbers) if is_number else [(n + 0.5) / len(chart.places) for n in range(len(chart.places))]
    pixels = [LEFT + 24 + spot * (width - LEFT - RIGHT - 48) for spot in spots]
    lines = []
    for number, values in enumerate(chart.lines.values()):
        shift = (number - (len(chart.lines) - 1) / 2) * APART
        lines.append(_line(values, [pixel + shift for pixel in pixels], is_number or chart.connected))
    ticks = [Tick(f"{share:.1f}", y=_y(share)) for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    places = [Tick(str(place), x=pixel) for place, pixel in zip(chart.places, pixels, strict=True)]
    return Plot(width, HEIGHT, LEFT, width - RIGHT, ticks, places, lines)


def corners(number: int, x: float, y: float) -> str:
    """The corners of the mark of line `number` around a point, as SVG writes them."""
    scale = MARK * (0.9 if number == 1 else 1)
    return " ".join(f"{x + dx * scale:.1f},{y + dy * scale:.1f}" for dx, dy in CORNERS[number])


def px(value: float) -> str:
    """A number of pixels, rounded to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _line(values: Sequence[Value | None], pixels: Sequence[float], connected: bool) -> Line:
    points = [
        Point(
            pixel,
            _y(value.value),
            *((None, None) if value.low is None or value.high is None else map(_y, (value.low, value.high))),
        )
        for pixel, value in zip(pixels, values, strict=True)
        if value is not None and value.value is not None and 0 <= value.value <= 1
    ]
    path = " ".join(f"{point.x:.1f},{point.y:.1f}" for point in points)
    return Line(points, path if connected and len(points) > 1 else "")


def _spread(numbers: Sequence[int | float]) -> list[float]:
    """0..1; 0.5 for a single number."""
    low, high = min(numbers), max(numbers)
    return [(number - low) / (high - low) if high > low else 0.5 for number in numbers]


def _x(share: float, width: int) -> float:
    """Half a line from either end, so that 0 and 1 are drawn whole."""
    return 1 + min(max(share, 0.0), 1.0) * (width - 2)


def _y(value: float) -> float:
    return TOP + (1 - min(max(value, 0.0), 1.0)) * (HEIGHT - TOP - BOTTOM)
