"""Tells how many inputs the tests here were given."""

from __future__ import annotations

import pytest

from tests.fuzz.inputs import SEEN


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SEEN:
        terminalreporter.write_line(f"{sum(SEEN.values()):,} damaged inputs")
