"""Scores of reasoning traces by domain, and how alike the orders are in which profiles put them, as figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runner.report import metric
from runner.report.drawing import drawable, figure_of, line
from runner.report.trace_section import points
from runner.words.wording import Wording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = 0.6  # of the room of a domain, for the runs side by side in it


def scores(runs: Mapping[str, Mapping[str, Any]], say: Wording) -> Figure | None:
    """`runs`: `trace` of summary.json by the name of the run. Means with the 10th and the 90th percentile."""
    found = {name: dict(points(trace)) for name, trace in runs.items()}
    domains = list(dict.fromkeys(domain for values in found.values() for domain in values))
    if not domains:
        return None
    figure, (axes,) = figure_of(1)
    for number, (name, values) in enumerate(found.items()):
        shift = APART * ((number + 0.5) / len(found) - 0.5)
        places = [place + shift for place, domain in enumerate(domains) if domain in values]
        line(axes, places, [values[domain] for domain in domains if domain in values], name, style="")
    axes.set_xticks(range(len(domains)), labels=[drawable(domain) for domain in domains])
    axes.set_ylabel(f"{metric.label('score', None, say)} ({say('trace.range')})")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    if len(found) > 1:
        figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def orders(trace: Mapping[str, Any], say: Wording) -> Figure | None:
    """Kendall's tau between the orders of every two profiles, the numbers in their fields."""
    entry = trace.get("sensitivity") or {}
    names, tau = entry.get("profiles") or (), entry.get("tau") or ()
    if len(names) < 2:
        return None
    figure, (axes,) = figure_of(1, height=4.4)
    shown = [[float("nan") if value is None else value for value in row] for row in tau]
    image = axes.imshow(shown, cmap="Blues", vmin=min(0.0, *(value for row in tau for value in row if value)), vmax=1)
    for y, row in enumerate(tau):
        for x, value in enumerate(row):
            if value is not None:
                colour = "white" if value > 0.6 else "black"
                axes.text(x, y, f"{value:.3f}", ha="center", va="center", color=colour, fontsize=8)
    labels = [drawable(str(name)) for name in names]
    axes.set_xticks(range(len(names)), labels=labels, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), labels=labels)
    figure.colorbar(image, ax=axes, label=say("trace.tau"))
    return figure
