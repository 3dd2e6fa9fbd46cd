"""Sweeps as a person starts them: what is compared, and with what."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.small_data import small_data


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return ["+experiment=full_rag", *small_data(tmp_path / "자료"), "tracking=none", "retriever=keyword"]


def read(path: str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_a_sweep_is_compared_with_the_baseline_that_was_named(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*data, "k=1,2,3", "baseline=k=2", "out=s"]) == 0
    found = read("s/summary.json")["comparison"]
    assert (found["baseline"], found["cells"], found["n_common"]) == ("1", ["0", "1", "2"], 8)
    assert "Compared with k=2" in capsys.readouterr().out
    assert "## Compared with k=2" in Path("s/summary.md").read_text(encoding="utf-8")


def test_the_first_run_is_the_baseline_and_choosing_another_runs_no_case_again(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*data, "k=1,2", "out=s"]) == 0
    assert read("s/summary.json")["comparison"]["baseline"] == "0"
    shutil.copy("s/0/per_item.jsonl", "before.jsonl")
    assert main([*data, "k=1,2", "out=s", "baseline=1"]) == 0
    assert "resuming: 8 of 8 cases are done" in capsys.readouterr().err
    assert Path("s/0/per_item.jsonl").read_bytes() == Path("before.jsonl").read_bytes()
    assert read("s/summary.json")["comparison"]["baseline"] == "1"


def test_a_baseline_that_is_no_run_is_told_before_anything_runs(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*data, "k=1,2", "out=s", "baseline=k=5"]) == 1
    assert "baseline: no run of this sweep is 'k=5'; expected one of 0 (k=1), 1 (k=2)" in capsys.readouterr().err
    assert not Path("s").exists()
