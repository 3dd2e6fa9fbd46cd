"""How much of the gap between a floor and a ceiling the runs of a sweep close (runner.compare.gap)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner.report import metric
from runner.report.columns import fitted, grid
from runner.report.comparison_words import chance
from runner.report.markdown import escape, table
from runner.report.sweep import Sweep
from runner.report.sweep_comparison import SHOWN, called, heading, in_order, label

Gap = Mapping[str, Any]


def gaps(sweep: Sweep) -> list[Gap]:
    return in_order(sweep, (sweep.comparison or {}).get("gaps", ()))


def rows(sweep: Sweep) -> tuple[list[str], list[list[str]]]:
    """(headers, rows): for each metric floor, ceiling and the share of every run."""
    say, names = sweep.say, list((sweep.comparison or {}).get("cells", ()))
    headers = [say("compare.metric"), say("sweep.n"), say("gap.floor"), say("gap.ceiling"), say("gap.p")]
    shown = []
    for gap in gaps(sweep):
        ends = [_end(sweep, gap[end]) for end in ("floor", "ceiling")]
        shares = [_share(sweep, gap, folder) for folder in names]
        shown.append([label(sweep, gap["name"]), str(gap["n"]), *ends, chance(gap["p"], say), *shares])
    return [*headers, *(called(sweep, folder) for folder in names)], shown


def section(sweep: Sweep) -> list[str]:
    """Blocks of summary.md."""
    headers, shown = rows(sweep)
    if not shown:
        return []
    title = escape(sweep.say("gap.title"))
    return [f"## {title}", table(headers, shown, right=range(1, len(headers))), escape(sweep.say("gap.explain"))]


def panel(sweep: Sweep) -> list[RenderableType]:
    """One row for each run, below those of floor and ceiling; fits 80 columns."""
    found = gaps(sweep)[:SHOWN]
    if not found:
        return []
    say, runs = sweep.say, (sweep.comparison or {})["cells"]
    ends = _ends(sweep, found)
    rows = [*ends, *([called(sweep, folder), *(_share(sweep, gap, folder) for gap in found)] for folder in runs)]
    names, *columns = zip(*rows, strict=True)
    headings = [heading(sweep, gap["name"]).plain for gap in found]
    (left,), fitting = fitted(
        [[", ".join(sweep.params) or say("sweep.folder"), *names]],
        [[name, *texts] for name, texts in zip(headings, columns, strict=True)],
    )
    shown = grid()
    shown.add_column(Text(left[0]), overflow="fold")
    for name in headings[:fitting]:
        shown.add_column(Text(name), justify="right", no_wrap=True)
    for number, (name, row) in enumerate(zip(left[1:], rows, strict=True), start=1):
        style = "dim" if number <= len(ends) else ""
        shown.add_row(*map(Text, [name, *row[1 : fitting + 1]]), style=style, end_section=number == len(ends))
    return [Text(say("gap.title"), style="bold"), shown, Text(say("gap.explain"), style="dim")]


def _ends(sweep: Sweep, found: Sequence[Gap]) -> list[list[str]]:
    """Rows of floors and ceiling; the floor of a metric stands in the row of what it was reached with."""
    say, shown = sweep.say, []
    for name in dict.fromkeys(gap["floor"]["folder"] for gap in found):
        values = [gap["floor"]["value"] if gap["floor"]["folder"] == name else None for gap in found]
        shown.append([say(f"gap.row_{name}"), *("" if value is None else metric.four(value, say) for value in values)])
    return [*shown, [say("gap.row_gold"), *(metric.four(gap["ceiling"]["value"], say) for gap in found)]]


def _end(sweep: Sweep, end: Mapping[str, Any]) -> str:
    return f"{metric.four(end['value'], sweep.say)} ({sweep.say('gap.' + end['folder'])})"


def _share(sweep: Sweep, gap: Gap, folder: str) -> str:
    if not gap["is_significant"]:
        return sweep.say("gap.too_small")
    share = gap["shares"].get(folder)
    return sweep.say("none") if share is None else f"{100 * share:.0f} %"
