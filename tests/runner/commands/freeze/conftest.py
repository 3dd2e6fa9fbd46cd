"""Finished runs to freeze, in a folder of each test's own."""

from pathlib import Path

import pytest

from tests.record_folders import copy_of


@pytest.fixture(autouse=True)
def here(small_records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which all of it is and the commands are given."""
    copy_of(small_records, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
