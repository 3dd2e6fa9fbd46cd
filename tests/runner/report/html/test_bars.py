from typing import Any

import pytest

from runner.report.html.bars import HEIGHT, SIGNED, WIDTH, difference_bar, interval_bar, share_bar
from runner.report.metric import Value, value_of
from tests.html_pages import Element, parse


def value(number: float | None, low: float | None = None, high: float | None = None) -> Value:
    return value_of({"m": {"value": number, "n": 10, "n_scored": 10, "ci_low": low, "ci_high": high}}, "m")


def numbers(element: Element, *names: str) -> list[float]:
    return [float(element.attributes[name] or "") for name in names]


def test_a_value_and_its_interval_stand_where_they_are() -> None:
    drawing = parse(interval_bar(value(0.5, 0.25, 0.75), width=102)).one("svg")
    assert numbers(drawing, "width", "height") == [102, HEIGHT]
    assert numbers(drawing.one("line", class_="point"), "x1", "x2") == [51, 51]  # 1 + 0.5 * 100
    assert numbers(drawing.one("rect", class_="range"), "x", "width") == [26, 50]
    assert drawing.attributes["aria-hidden"] == "true"


@pytest.mark.parametrize(("number", "place"), [(0.0, 1.0), (1.0, WIDTH - 1.0)])
def test_the_ends_are_drawn_whole(number: float, place: float) -> None:
    drawing = parse(interval_bar(value(number)))
    assert numbers(drawing.one("line", class_="point"), "x1") == [place]
    assert numbers(drawing.one("rect", class_="range"), "width") == [0]


@pytest.mark.parametrize("number", [None, 1.5, -0.1, 12.0])
def test_what_is_no_share_is_not_drawn(number: float | None) -> None:
    assert interval_bar(value(number)) == ""


def entry(difference: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"difference": difference, "ci_low": low, "ci_high": high, "verdict": "worse"}


def test_a_difference_stands_left_or_right_of_nothing() -> None:
    drawing = parse(difference_bar(entry(-0.05, -0.1, 0.0), widest=0.1, margin=0.02))
    middle, half = SIGNED / 2, (SIGNED - 2) / 2
    assert numbers(drawing.one("line", class_="zero"), "x1") == [middle]
    assert numbers(drawing.one("line", class_="point"), "x1") == [middle - half / 2]
    assert numbers(drawing.one("rect", class_="range"), "x", "width") == [1, half]
    assert numbers(drawing.one("rect", class_="band"), "x", "width") == pytest.approx([middle - half / 5, 2 * half / 5])
    assert drawing.all("span", class_="worse")


def test_a_difference_without_an_interval_is_a_point() -> None:
    drawing = parse(difference_bar(entry(0.1, None, None), widest=0.1, margin=0.02))
    assert numbers(drawing.one("rect", class_="range"), "width") == [0]
    assert difference_bar(entry(None, None, None), 0.1, 0.02) == ""


def test_a_share_of_the_cell() -> None:
    assert numbers(parse(share_bar(0.25, 0.5, "loss")).one("rect", class_="loss"), "x", "width") == [250, 500]


def test_a_small_share_can_be_seen_and_none_cannot() -> None:
    assert numbers(parse(share_bar(0, 1e-5, "loss")).one("rect"), "width") == [2]
    assert numbers(parse(share_bar(0, 0, "loss")).one("rect"), "width") == [0]
