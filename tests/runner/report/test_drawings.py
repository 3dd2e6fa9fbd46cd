"""Where the shapes of a page's drawings stand, by hand."""

import pytest

from runner.report.blocks import Chart, Difference
from runner.report.drawings import BAR, HEIGHT, LEFT, RIGHT, SIGNED, WIDE, corners, ends_of, plot_of, px, span_of
from runner.report.metric import Value


def value(number: float | None, low: float | None = None, high: float | None = None) -> Value:
    return Value("m", number, 10, 10, low, high, number)


def test_an_interval_on_a_line_from_0_to_1() -> None:
    """Half a pixel is left at either end, so that 0 and 1 are drawn whole."""
    span = span_of(value(0.5, 0.25, 1.0))
    assert span is not None
    assert (span.width, span.low, span.middle, span.high) == (BAR, 1 + 0.25 * 130, 1 + 0.5 * 130, BAR - 1)


def test_without_an_interval_it_is_a_point() -> None:
    span = span_of(value(0.5))
    assert span is not None and span.low == span.middle == span.high


@pytest.mark.parametrize("number", [None, -0.1, 1.5, 87.0])
def test_what_is_missing_or_no_share_is_not_drawn(number: float | None) -> None:
    assert span_of(value(number)) is None


def test_a_difference_around_0() -> None:
    at = ends_of(Difference(0.1, -0.1, 0.2, widest=0.2, margin=0.05, verdict="better"))
    assert at.zero == SIGNED / 2
    assert (at.low, at.middle, at.high) == pytest.approx((25.5, 74.5, 99.0))
    assert (at.band_low, at.band_high) == pytest.approx((37.75, 62.25))


def test_numbers_stand_where_they_are_and_names_side_by_side() -> None:
    lines = {"a": [value(0.0), value(1.0), value(0.5)]}
    at = plot_of(Chart("c", "k", [0, 5, 10], lines))
    ends = (LEFT + 24, WIDE - RIGHT - 24)
    assert [place.x for place in at.places] == [ends[0], sum(ends) / 2, ends[1]]
    named = plot_of(Chart("c", "k", ["a", "b", "c"], lines))
    assert ends[0] < named.places[0].x < named.places[1].x < named.places[2].x < ends[1]
    assert at.lines[0].path and not named.lines[0].path  # names are no order
    assert plot_of(Chart("c", "k", ["a", "b", "c"], lines, connected=True)).lines[0].path


def test_higher_values_stand_higher_and_what_is_missing_is_left_out() -> None:
    line = plot_of(Chart("c", "k", [1, 2, 3], {"a": [value(0.2, 0.1, 0.3), None, value(0.8)]})).lines[0]
    assert len(line.points) == 2
    first, second = line.points
    assert 0 < second.y < first.y < HEIGHT
    assert first.low is not None and first.high is not None and first.high < first.y < first.low
    assert second.low is None


def test_lines_at_one_place_do_not_cover_each_other() -> None:
    at = plot_of(Chart("c", "k", [1, 2], {"a": [value(0.5)] * 2, "b": [value(0.5)] * 2}))
    assert at.lines[1].points[0].x - at.lines[0].points[0].x == pytest.approx(5.0)


def test_marks_and_numbers() -> None:
    assert corners(1, 10, 10) == "6.8,6.8 13.2,6.8 13.2,13.2 6.8,13.2"
    assert [px(1.0), px(1.239), px(0.5)] == ["1", "1.24", "0.5"]
