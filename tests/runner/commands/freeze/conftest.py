"""Finished runs to freeze, in a folder of each test's own."""

from pathlib import Path

import pytest

from runner.commands import freeze
from tests.record_folders import copy_of, small_runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run` and `sweep`, and the records `experiments/한` and `experiments/s` of them. Not to be changed."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small_runs(Path("자료 (1)"))
        assert freeze.main(["run", "experiments/한", "--question", "두 개면 충분한가? <b>|"]) == 0
        assert freeze.main(["sweep", "experiments/s"]) == 0
    return folder


@pytest.fixture(autouse=True)
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which all of it is and the commands are given."""
    copy_of(runs, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
