"""The finished runs that the tests here damage; and how many inputs they were given."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

from runner.cli import main
from tests.fuzz.inputs import SEEN, TOTAL, WHOLE
from tests.fuzz.samples import QUICK
from tests.shared_folders import shared
from tests.small_data import small_data


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run`, the sweep `sweep` and the data that both are of, by paths below the folder. Not to be changed."""

    def make(folder: Path) -> None:
        with chdir(folder):
            words = ["+experiment=full_rag", *small_data(Path("data")), *QUICK]
            assert main([*words, "k=2", "out=run"]) == 0
            assert main([*words, "k=1,2", "out=sweep"]) == 0

    return shared(tmp_path_factory, "fuzzed_runs", make)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SEEN:
        for name, count in sorted(SEEN.items()) if TOTAL > WHOLE else ():
            terminalreporter.write_line(f"{count:9,} {name}")
        terminalreporter.write_line(f"{sum(SEEN.values()):9,} damaged inputs")
