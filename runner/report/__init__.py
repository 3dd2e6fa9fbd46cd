"""What a finished run or sweep looks like to a person: terminal panels, summary.md and report.html."""

from runner.report.brief import brief, brief_case, brief_sweep, next_steps
from runner.report.case import case_view
from runner.report.comparison import comparison_view
from runner.report.panels import panels
from runner.report.summary import write
from runner.report.sweep_files import write_sweep
from runner.report.sweep_sections import sweep_panels

__all__ = [
    "brief",
    "brief_case",
    "brief_sweep",
    "case_view",
    "comparison_view",
    "next_steps",
    "panels",
    "sweep_panels",
    "write",
    "write_sweep",
]
