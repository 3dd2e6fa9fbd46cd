"""Finished runs to freeze, in a folder of each test's own."""

from pathlib import Path

import pytest

from tests.record_folders import copy_of, small_records


@pytest.fixture(scope="session")
def runs(small_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run` and `sweep`, and the records `experiments/한` and `experiments/s` of them. Not to be changed."""
    return small_records(
        small_runs,
        tmp_path_factory.mktemp("runs"),
        "experiments/한",
        "experiments/s",
        "--question",
        "두 개면 충분한가? <b>|",
    )


@pytest.fixture(autouse=True)
def here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which all of it is and the commands are given."""
    copy_of(runs, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
