"""What a finished run or sweep looks like to a person: terminal panels, summary.md and report.html."""

from pathlib import Path

from runner.report import html, summary
from runner.report.case import case_view
from runner.report.comparison import comparison_view
from runner.report.panels import panels
from runner.report.sweep_files import write_sweep
from runner.report.sweep_sections import sweep_panels

__all__ = ["case_view", "comparison_view", "panels", "sweep_panels", "write", "write_sweep"]


def write(folder: Path) -> None:
    """Write summary.md and report.html of a run. Raises InputError when `folder` is no run folder."""
    summary.write(folder)
    html.write(folder)
