"""Charts of a finished run or sweep, as PNG files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.report import metric, run
from runner.report.blocks import FIGURE, Block, Chart, Drawn, Histogram, Matrix, figures
from runner.report.document import Document
from runner.report.drawing import Draw, distances, drawable, drawable_wording, figure_of, line, save
from runner.report.reporting import sections_of_sweep
from runner.report.summary import report_of
from runner.report.sweep import read_sweep
from runner.system.folder import open_run, read_json
from runner.words.wording import Wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.6  # of the room of a name, for the lines side by side in it


def draw_run(folder: Path, target: Path) -> list[Path]:
    """Draw the figures of the report of a run, and its live latencies."""
    document = Document.of(open_run(folder))
    document = replace(document, say=drawable_wording(document.say))
    latencies = run.latencies(document)
    return save(drawings_of([*report_of(document, FIGURE), *([latencies] if latencies else [])]), target)


def draw_sweep(folder: Path, target: Path) -> list[Path]:
    """The main metrics against what was swept, with their intervals, and what its evaluation has to draw."""
    record = read_json(folder / "summary.json", "sweep")
    cells = [cell for cell in record.get("cells") or () if cell.get("status") == "completed"]
    x = x_axis(record.get("params") or [], cells)
    if x is None:
        return []
    sweep = read_sweep(folder)
    sweep = replace(sweep, say=drawable_wording(sweep.say))
    name = "".join(character if character.isalnum() else "_" for character in x)
    against: dict[str, Draw] = {f"metrics_against_{name}": lambda: _figure_by_setting(x, cells, sweep.say)}
    return save(against | drawings_of(sections_of_sweep(sweep)), target)


def drawings_of(blocks: Iterable[Block]) -> dict[str, Draw]:
    """The drawings by name; charts of one name are panels of one figure."""
    charts: dict[str, list[Drawn]] = {}
    for block in figures(blocks):
        charts.setdefault(block.name, []).append(block)
    return {name: partial(draw, same) for name, same in charts.items()}


# --- one figure each ------------------------------------------------------------------------------


def draw(blocks: Sequence[Drawn]) -> Figure:
    """Blocks that share a figure, side by side."""
    first, charts = blocks[0], [block for block in blocks if isinstance(block, Chart)]
    if isinstance(first, Matrix):
        return _matrix(first)
    if isinstance(first, Histogram):
        return _histogram(first)
    sideways = any(chart.sideways for chart in charts)
    height = 1.2 + 0.3 * len(charts[0].places) if sideways else 3.6
    figure, panels = figure_of(len(charts), height=height, sharey=sideways)
    for axes, chart in zip(panels, charts, strict=True):
        (_bars if chart.sideways else _lines)(axes, chart)
    if charts[0].y:
        panels[0].set_ylabel(drawable(charts[0].y))
    if len(charts[-1].lines) > 1:
        figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _lines(axes: Axes, chart: Chart) -> None:
    """Numbers are placed by value on a logarithmic axis, names at equal distances; lines over names that are no order
    are drawn beside each other."""
    numbers = [place for place in chart.places if isinstance(place, int | float)]
    is_number = len(numbers) == len(chart.places)
    at = numbers if is_number else list(range(len(chart.places)))
    beside = not is_number and not chart.connected
    for number, (name, values) in enumerate(chart.lines.items()):
        shift = APART * ((number + 0.5) / len(chart.lines) - 0.5) if beside else 0
        known = [(place + shift, value) for place, value in zip(at, values, strict=True) if value is not None]
        style = "" if beside else "-"
        line(axes, [place for place, _ in known], [value for _, value in known], drawable(name), style)
    if is_number:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(at, labels=[drawable(str(place)) for place in chart.places])
    axes.set_xlabel(drawable(chart.x))
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)


def _bars(axes: Axes, chart: Chart) -> None:
    """The first place stands on top."""
    (values,) = chart.lines.values()
    rows = [(y, value) for y, value in enumerate(reversed(values)) if value is not None and value.value is not None]
    ys, widths = [y for y, _ in rows], [value.value or 0.0 for _, value in rows]
    axes.barh(ys, widths, color="#9ecae1")
    low, high = distances([value for _, value in rows])
    axes.errorbar(widths, ys, xerr=[low, high], fmt="none", ecolor="#333333", capsize=2)
    axes.set_title(drawable(chart.x), fontsize=10)
    axes.set_yticks(range(len(values)), labels=[drawable(str(place)) for place in reversed(chart.places)])
    if all(0 <= width <= 1 for width in widths):
        axes.set_xlim(0, 1)


def _matrix(block: Matrix) -> Figure:
    """The numbers in their fields."""
    figure, (axes,) = figure_of(1, height=4.4)
    fields = [[float("nan") if value is None else value for value in row] for row in block.values]
    least = min(0.0, *(value for row in block.values for value in row if value))
    image = axes.imshow(fields, cmap="Blues", vmin=least, vmax=1)
    for y, row in enumerate(block.values):
        for x, value in enumerate(row):
            if value is not None:
                colour = "white" if value > 0.6 else "black"
                axes.text(x, y, f"{value:.3f}", ha="center", va="center", color=colour, fontsize=8)
    labels = [drawable(str(name)) for name in block.names]
    axes.set_xticks(range(len(labels)), labels=labels, rotation=30, ha="right")
    axes.set_yticks(range(len(labels)), labels=labels)
    figure.colorbar(image, ax=axes, label=block.label)
    return figure


def _histogram(block: Histogram) -> Figure:
    figure, (axes,) = figure_of(1)
    axes.hist(block.values, bins=min(50, max(5, len(block.values) // 5)), color="#9ecae1")
    for (name, value), style in zip(block.marks.items(), ("-", "--"), strict=False):
        axes.axvline(value, color="#333333", linestyle=style, label=f"{name} {value:.1f} ms")
    axes.set_xlabel(drawable(block.x))
    axes.legend(frameon=False)
    return figure


def _figure_by_setting(x: str, cells: Sequence[Mapping[str, Any]], say: Wording) -> Figure | None:
    cell_values = [
        value for cell in cells if (measures := cell.get("metrics")) for value in metric.scores(measures, measures)
    ]
    names = say.catalogue.headlines(dict.fromkeys(value.name for value in cell_values))
    if not names:
        return None
    figure, panels = figure_of(len(names), height=2.9)
    positions = list(dict.fromkeys(cell["params"].get(x) for cell in cells))
    numeric = all(isinstance(position, int | float) for position in positions)
    for axes, name in zip(panels, names, strict=True):
        for series, members in series_along(x, cells).items():
            values = [metric.value_of(cell.get("metrics") or {}, name) for cell in members]
            places = [cell["params"].get(x) for cell in members]
            spots = places if numeric else [positions.index(place) for place in places]
            line(axes, spots, values, drawable(series), style="-" if numeric else "")
        labels = [drawable(str(position)) for position in positions]
        axes.set_xticks(positions if numeric else range(len(positions)), labels=labels)
        axes.set_xlabel(drawable(x))
        axes.set_title(metric.label(name, None, say), fontsize=10)
        if say.catalogue.variant(name).is_share:
            axes.set_ylim(-0.02, 1.02)
        axes.grid(alpha=0.3)
    if len(series_along(x, cells)) > 1:
        panels[-1].legend(frameon=False, fontsize=8)
    return figure


def x_axis(params: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> str | None:
    """k where it was swept, else the first swept number, else the first swept name."""

    def numeric(name: str) -> bool:
        return all(isinstance(cell["params"].get(name), int | float) for cell in cells)

    ordered = sorted(params, key=lambda name: (name != "k", not numeric(name)))
    return ordered[0] if ordered and cells else None


def series_along(x: str, cells: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Cells that differ in `x` only, by the rest of their params, along x."""
    series: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        others = ", ".join(f"{name}={value}" for name, value in cell["params"].items() if name != x)
        series.setdefault(others, []).append(cell)
    return {
        others: sorted(members, key=lambda cell: _place(cell["params"].get(x))) for others, members in series.items()
    }


def _place(value: Any) -> tuple[bool, float, str]:
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, str(value))
