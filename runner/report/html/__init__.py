"""report.html: a run, a sweep or a comparison as one page. It needs no server and no network, and a script for the
table of cases only."""

from runner.report.html.comparison_page import write_comparison
from runner.report.html.sweep_page import write_sweep

__all__ = ["write_comparison", "write_sweep"]
