import pytest

from runner.report.html.plot import BOTTOM, HEIGHT, LEFT, RIGHT, STYLES, TOP, WIDE, legend, plot
from runner.report.metric import Value, value_of
from tests.html_pages import Element, parse

FIRST, LAST = LEFT + 24, WIDE - RIGHT - 24  # where the lowest and the highest number stand


def value(number: float | None, low: float | None = None, high: float | None = None) -> Value:
    return value_of({"m": {"value": number, "n": 10, "ci_low": low, "ci_high": high}}, "m")


def down(share: float) -> float:
    return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)


def points(line: Element) -> list[tuple[float, float]]:
    pairs = (line.one("polyline").attributes["points"] or "").split()
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)]


def texts(drawing: Element) -> list[str]:
    return [each.text for each in drawing.all("text")]


def test_numbers_stand_where_they_are() -> None:
    drawing = parse(plot("k", [1, 3, 5], [[value(0.0), value(0.5), value(1.0)]], WIDE))
    middle = (FIRST + LAST) / 2
    assert points(drawing.one("g")) == [(FIRST, down(0)), (middle, down(0.5)), (LAST, down(1))]
    assert texts(drawing)[-4:] == ["1", "3", "5", "k"]


def test_the_interval_is_a_bar_with_ends() -> None:
    drawing = parse(plot("k", [3], [[value(0.5, 0.4, 0.7)]], WIDE))
    bar, low, high = drawing.all("line", class_="whisker")
    places = [[float(each.attributes[name] or "") for name in ("y1", "y2")] for each in (bar, low, high)]
    assert places == [pytest.approx(pair) for pair in ([down(0.4), down(0.7)], [down(0.4)] * 2, [down(0.7)] * 2)]
    assert not drawing.all("polyline")  # one place makes no line


def test_intervals_of_several_lines_stand_side_by_side() -> None:
    lines = [[value(0.5, 0.4, 0.6), value(0.5, 0.4, 0.6)] for _ in range(3)]
    drawing = parse(plot("k", [1, 2], lines, WIDE))
    starts = [points(line)[0][0] for line in drawing.all("g")]
    assert starts == [FIRST - 5, FIRST, FIRST + 5]
    assert [line.attributes["class"] for line in drawing.all("g")] == ["line s1", "line s2", "line s3"]


def test_names_stand_side_by_side_and_are_not_joined() -> None:
    drawing = parse(plot("retriever", ["keyword", "hybrid"], [[value(0.2), value(0.4)]], WIDE))
    assert not drawing.all("polyline")
    assert len(drawing.all("circle")) == 2
    assert texts(drawing)[-3:] == ["keyword", "hybrid", "retriever"]


def test_what_has_no_value_is_left_out() -> None:
    drawing = parse(plot("k", [1, 3, 5], [[value(0.1), value(None), value(0.3)]], WIDE))
    assert [x for x, _ in points(drawing.one("g"))] == [FIRST, LAST]


def test_names_are_escaped() -> None:
    assert texts(parse(plot("<k>", ["<a>"], [[value(0.1)]], WIDE)))[-2:] == ["<a>", "<k>"]


def test_lines_can_be_told_apart_without_colours() -> None:
    shown = parse(legend([f"metric {n}" for n in range(STYLES)]))
    assert [each.text for each in shown.all("li")] == [f"metric {n}" for n in range(STYLES)]
    marks = []
    for item in shown.all("li"):
        (mark,) = [each for each in item if each.name in ("circle", "polygon")]
        marks.append((mark.name, mark.attributes.get("points"), mark.attributes.get("class")))
    assert len(set(marks)) == STYLES
