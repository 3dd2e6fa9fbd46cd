"""Answers with ratings of people, in a folder of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.commands.calibrate.calibrated import LABELS
from tests.small_data import write_jsonl


@pytest.fixture(autouse=True)
def labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_jsonl(tmp_path / "라벨.jsonl", LABELS)
