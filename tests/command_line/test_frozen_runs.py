"""What a record says is run again as it was, and with changes, by whole commands."""

import os
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read
from tests.record_folders import copy_of


@pytest.fixture(autouse=True)
def here(small_records: Path, tmp_path: Path) -> None:
    copy_of(small_records, tmp_path)


ONE = ["-cd", "experiments/한", "-cn", "frozen"]
TWO = ["-cd", "experiments/s", "-cn", "frozen"]


def test_the_same_again_and_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    """In the default folder of the run that was frozen."""
    assert main(ONE) == 0
    was = read("run/run.json")
    (folder,) = Path("outputs").glob("2*")
    assert folder.name.endswith(f"full_rag-{was['fingerprint'][:8]}")
    now = read(folder / "run.json")
    assert now["fingerprint"] == was["fingerprint"]
    assert now["choices"] == was["choices"]
    assert now["frozen"] == "experiments/한/frozen.yaml"
    assert was["frozen"] is None
    assert read(folder / "summary.json")["metrics"] == read("run/summary.json")["metrics"]
    rows = (folder / "per_item.jsonl").read_bytes()
    capsys.readouterr()
    assert main([*ONE, f"out={folder}"]) == 0
    assert (folder / "per_item.jsonl").read_bytes() == rows
    assert "이어서 실행합니다. 사례 8개 중 8개는 이미 끝났습니다" in capsys.readouterr().err


def test_a_sweep_with_another_choice_in_other_processes() -> None:
    """Wherever a job is composed, it sees what was frozen."""
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    few = ["k=1", "sample=1", "format=json"]
    assert main([*TWO, *few, "generator.max_sentences=1", *launcher, "out=x"]) == 0
    runs = [read(f"x/{number}/run.json") for number in range(2)]
    assert [(run["choices"]["retriever"], run["k"]) for run in runs] == [("keyword", 1), ("hybrid", 1)]
    assert {run["config"]["generator"]["max_sentences"] for run in runs} == {1}
    assert {run["frozen"] for run in runs} == {"experiments/s/frozen.yaml"}


def test_what_is_composed_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ONE, "k=9", "retriever=semantic", "--cfg", "job"]) == 0
    shown = capsys.readouterr().out
    assert "\nk: 9\n" in shown
    assert "_target_: plugins.retriever.semantic.SemanticRetriever" in shown
    assert "corpus: 자료 (1)/corpus.jsonl\n" in shown
    assert not Path("outputs").exists()


def test_plans_and_calibrations_take_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *ONE]) == 0
    assert main(["calibrate", "labels.jsonl", *TWO]) == 1
    assert "calibrate takes one judge" in capsys.readouterr().err
    assert main(["generate", "corpus=x", "out=y", *ONE]) == 1
    assert "generate takes settings" in capsys.readouterr().err


def test_runs_are_compared_with_records(capsys: pytest.CaptureFixture[str]) -> None:
    """A record of one does not come with the comparison it was run with."""
    assert main([*ONE, "k=1", "compare=experiments/한", "save_snapshot=s.json", "out=x"]) == 0
    assert "compare.md" in os.listdir("x")
    assert main(["freeze", "x", "experiments/셋"]) == 0
    text = Path("experiments/셋/frozen.yaml").read_text(encoding="utf-8")
    assert "\ncompare: null\n" in text
    assert "\nsave_snapshot: null\n" in text
    assert main(["compare", "experiments/s/0", "experiments/s/1", "--out", "y"]) == 0
    capsys.readouterr()
    assert main(["compare", "experiments/s", "x"]) == 1
    told = "experiments/s/0 (retriever=keyword), experiments/s/1 (retriever=hybrid)"
    assert f"'experiments/s' is a sweep; name one of its runs: {told}" in capsys.readouterr().err
