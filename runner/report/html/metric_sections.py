"""A cell of the tables of the page of a sweep."""

from __future__ import annotations

from runner.report import metric
from runner.report.html.bars import interval_bar
from runner.report.html.markup import Html, joined, tag
from runner.report.metric import Value
from runner.words.wording import Wording

CELL_BAR = 64  # pixels


def slice_cell(value: Value, say: Wording, *, is_best: bool = False) -> Html:
    """The value, the number of cases, and the interval, as text and drawn."""
    if value.value is None:
        return tag("span", say("none"), class_="quiet")
    count = f"{value.n_scored:,}/{value.n:,}" if value.partly_scored else f"{value.n:,}"
    number = tag("strong" if is_best else "span", f"{value.value:.2f}")
    interval = metric.interval(value.low, value.high, digits=2)
    quiet = tag("span", f"{interval} ({count})".strip(), class_="quiet")
    return joined([tag("span", number, interval_bar(value, CELL_BAR), class_="measured"), quiet])
