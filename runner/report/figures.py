"""Charts of a finished run or sweep, as PNG files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.metrics.catalogue import declared_in
from runner.report import memory_figures, metric, trace_figures, trace_sweep
from runner.report.drawing import Draw, distances, drawable, drawable_wording, figure_of, finish, line, save
from runner.system.folder import RunFolder, open_run, read_json
from runner.words.wording import LANGUAGES, Wording, supported, wording_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BARS, BARS = 30, 4  # tags, metrics


def draw_run(folder: Path, target: Path) -> list[Path]:
    """Metrics at the fixed cutoffs, bars by tag, histogram of live latencies: those for which there are numbers."""
    run = open_run(folder)
    say = drawable_wording(wording_of(run.run))
    tags = (run.summary.get("slices") or {}).get("tag") or {}
    figures: dict[str, Draw] = {
        "metrics_at_cutoffs": lambda: _curves(run.summary.get("metrics") or {}, say),
        "metrics_by_tag": lambda: _bars(tags, run.summary.get("k"), say),
        "latency": lambda: _histogram(run, say),
        "retention": lambda: memory_figures.retention({"": run.summary.get("memory") or {}}, say),
        "trace_scores": lambda: trace_figures.scores({"": run.summary.get("trace") or {}}, say),
        "trace_orders": lambda: trace_figures.orders(run.summary.get("trace") or {}, say),
    }
    return save(figures, target)


def draw_sweep(folder: Path, target: Path) -> list[Path]:
    """The main metrics against what was swept, with their intervals."""
    sweep = read_json(folder / "summary.json", "sweep")
    cells = [cell for cell in sweep.get("cells") or () if cell.get("status") == "completed"]
    x = x_axis(sweep.get("params") or [], cells)
    if x is None:
        return []
    say = drawable_wording(LANGUAGES[supported(sweep.get("language"))].about(declared_in(sweep)))
    name = "".join(character if character.isalnum() else "_" for character in x)
    figures: dict[str, Draw] = {
        f"metrics_against_{name}": lambda: _against(x, cells, say),
        "retention": lambda: memory_figures.retention(_told(cells, "memory"), say),
        "trace_scores": lambda: trace_figures.scores(_told(cells, "trace"), say),
        "trace_orders": lambda: trace_figures.orders(trace_sweep.shared(_told(cells, "trace")), say),
    }
    return save(figures, target)


def _told(cells: Iterable[Mapping[str, Any]], part: str) -> dict[str, Mapping[str, Any]]:
    """A part of the summaries of runs, by what was swept."""
    found = {" ".join(f"{name}={value}" for name, value in cell["params"].items()): cell.get(part) for cell in cells}
    return {drawable(name): told for name, told in found.items() if told}


# --- one figure each ------------------------------------------------------------------------------


def _curves(metrics: Mapping[str, Any], say: Wording) -> Figure | None:
    cutoffs = metric.cutoffs(metrics)
    names = [
        name
        for name in say.catalogue.in_order(metric.families(metrics, say))
        if metric.scored(metrics, [f"{name}_at_{cutoff}" for cutoff in cutoffs]) and _is_headline(name, say)
    ]
    if not names:
        return None
    figure, (axes,) = figure_of(1)
    for name in names:
        line(
            axes,
            cutoffs,
            [metric.value_of(metrics, f"{name}_at_{cutoff}") for cutoff in cutoffs],
            metric.label(name, None, say),
        )
    axes.set_xscale("log")
    axes.set_xticks(cutoffs, labels=[str(cutoff) for cutoff in cutoffs])
    axes.minorticks_off()
    axes.set_xlabel(say("cutoffs.cutoff"))
    finish(axes)
    return figure


def _is_headline(name: str, say: Wording) -> bool:
    record = say.catalogue.variant(name).metric
    return record is not None and record.headline is not None


def _bars(tags: Mapping[str, Any], k: int | None, say: Wording) -> Figure | None:
    there = dict.fromkeys(value.name for group in tags.values() for value in metric.scored(group, group))
    names = say.catalogue.headlines(there)[:BARS]
    if not names:
        return None
    largest = sorted(tags, key=lambda tag: (-metric.value_of(tags[tag], names[0]).n, tag))[:MAX_BARS][::-1]
    figure, panels = figure_of(len(names), height=1.2 + 0.3 * len(largest), sharey=True)
    for axes, name in zip(panels, names, strict=True):
        values = [metric.value_of(tags[tag], name) for tag in largest]
        axes.barh(range(len(largest)), [value.value or 0.0 for value in values], color="#9ecae1")
        scored = [(y, value) for y, value in enumerate(values) if value.value is not None]
        low, high = distances([value for _, value in scored])
        x, y = [value.value or 0.0 for _, value in scored], [y for y, _ in scored]
        axes.errorbar(x, y, xerr=[low, high], fmt="none", ecolor="#333333", capsize=2)
        axes.set_title(metric.label(name, k, say), fontsize=10)
        if say.catalogue.variant(name).is_share:
            axes.set_xlim(0, 1)
    counts = [metric.value_of(tags[tag], names[0]).n for tag in largest]
    labels = [f"{drawable(tag)} (n={n})" for tag, n in zip(largest, counts, strict=True)]
    panels[0].set_yticks(range(len(largest)), labels=labels)
    return figure


def _histogram(run: RunFolder, say: Wording) -> Figure | None:
    """Live retrievals; where there is none, whole cases as in runner.metrics.aggregate.latency."""
    import numpy as np

    stages: dict[str, list[float]] = {"retrieval": [], "case": []}
    for row in run.rows():
        timings = row.get("timings") or {}
        timing = timings.get("retrieval") or {}
        if timing.get("live") and timing.get("ms") is not None:
            stages["retrieval"].append(timing["ms"])
        is_live = row.get("status") == "ok" and all(each.get("live", True) for each in timings.values())
        if is_live and row.get("latency_ms") is not None:
            stages["case"].append(row["latency_ms"])
    stage = "retrieval" if stages["retrieval"] else "case"
    if not stages[stage]:
        return None
    figure, (axes,) = figure_of(1)
    axes.hist(stages[stage], bins=min(50, max(5, len(stages[stage]) // 5)), color="#9ecae1")
    for share, style in ((50, "-"), (95, "--")):
        value = float(np.percentile(stages[stage], share))
        axes.axvline(value, color="#333333", linestyle=style, label=f"p{share} {value:.1f} ms")
    axes.set_xlabel(f"{say('head.latency')}, {say.name('stage', stage)} (ms), n={len(stages[stage])}")
    axes.legend(frameon=False)
    return figure


def _against(x: str, cells: Sequence[Mapping[str, Any]], say: Wording) -> Figure | None:
    there = [value for cell in cells if (found := cell.get("metrics")) for value in metric.scored(found, found)]
    names = say.catalogue.headlines(dict.fromkeys(value.name for value in there))
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
    found: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        rest = ", ".join(f"{name}={value}" for name, value in cell["params"].items() if name != x)
        found.setdefault(rest, []).append(cell)
    return {rest: sorted(members, key=lambda cell: _place(cell["params"].get(x))) for rest, members in found.items()}


def _place(value: Any) -> tuple[bool, float, str]:
    return (False, float(value), "") if isinstance(value, int | float) else (True, 0.0, str(value))
