"""How many inputs the tests here were given."""

from __future__ import annotations

import pytest

from tests.fuzz.inputs import SEEN, TOTAL, WHOLE


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SEEN:
        for name, count in sorted(SEEN.items()) if TOTAL > WHOLE else ():
            terminalreporter.write_line(f"{count:9,} {name}")
        terminalreporter.write_line(f"{sum(SEEN.values()):9,} damaged inputs")
