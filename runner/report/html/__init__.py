"""report.html: a run or a sweep as one page, which needs no server, no network and, but for its table of cases, no
script."""

from runner.report.html.run_page import write
from runner.report.html.sweep_page import write_sweep

__all__ = ["write", "write_sweep"]
