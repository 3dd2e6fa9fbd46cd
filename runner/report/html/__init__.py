"""report.html: a run as one page. It needs no server and no network, and a script for the
table of cases only."""

from runner.report.html.run_page import write

__all__ = ["write"]
