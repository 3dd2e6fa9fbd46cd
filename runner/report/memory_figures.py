"""The curves of what a memory keeps, as a figure for one run or for the runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runner.report.drawing import figure_of, line
from runner.report.memory_section import BY, places, points
from runner.words.wording import Wording

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def retention(curves: Mapping[str, Mapping[str, Any]], say: Wording) -> Figure | None:
    """`curves`: `memory` of summary.json by the name of its line; one panel by turns, one by updates."""
    bins = {by: places(curves.values(), by) for by in BY}
    shown = [by for by in BY if len(bins[by]) > 1]  # one bin is no curve
    if not shown:
        return None
    figure, panels = figure_of(len(shown))
    for axes, by in zip(panels, shown, strict=True):
        at = {label: place for place, label in enumerate(bins[by])}
        for name, memory in curves.items():
            found = points(memory, by)
            line(axes, [at[label] for label, _ in found], [value for _, value in found], name)
        axes.set_xticks(list(at.values()), labels=list(at))
        axes.set_xlabel(say(f"memory.{by}"))
        axes.set_ylim(-0.02, 1.02)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(say("memory.share"))
    if len(curves) > 1:
        panels[-1].legend(frameon=False, fontsize=8)
    return figure
