"""report.html: a run or a sweep as one page. It needs no server and no network, and a script for the
table of cases only."""

from runner.report.html.run_page import write
from runner.report.html.sweep_page import write_sweep

__all__ = ["write", "write_sweep"]
