"""Whole commands that ask for values to reach, without a baseline."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from runner.cli import main
from tests.small_data import write_jsonl

WORDS = [
    "dataset=jsonl", "dataset.corpus=corpus.jsonl", "dataset.queries=queries.jsonl", "retriever=keyword",
    "tracking=none", "tokenizer=word",
]  # fmt: skip


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten questions; the documents of eight are found. Of the three about refunds, one is."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("corpus.jsonl"), [{"id": f"d{n}", "title": "", "text": f"word{n}"} for n in range(10)])
    rows = [
        {
            "id": f"q{n}",
            "query": "nothing" if n > 7 else f"word{n}",
            "answerable": True,
            "expected_notes": [f"d{n}"],
            "language": "ko" if n > 4 else "en",
            "tags": ["환불 요청"] if n > 6 else [],
        }
        for n in range(10)
    ]
    write_jsonl(Path("queries.jsonl"), rows)


def read(path: str) -> dict[str, Any]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def statuses(path: str) -> list[tuple[str, str, str]]:
    return [(each["metric"], each["slice"], each["status"]) for each in read(path)["thresholds"]]


def test_one_that_is_not_reached(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["threshold.recall_at_5=0.8", "threshold.language.ko.recall_at_5=0.7", "threshold.tag.환불 요청.mrr=0.1"]
    assert main([*WORDS, *words, "out=x", "junit=rules.xml"]) == 4
    shown = capsys.readouterr()
    assert "error: Threshold: 1 of 3 not reached: Recall@5 [ko] 0.6000" in shown.err
    assert "passed: Recall@5 0.8000" in shown.out and "not reached: Recall@5 [ko] 0.6000" in shown.out
    assert statuses("x/summary.json") == [
        ("recall_at_5", "", "passed"), ("recall_at_5", "ko", "not_reached"), ("mrr", "환불 요청", "passed"),
    ]  # fmt: skip
    run = read("x/run.json")
    assert (run["status"], run["exit_code"]) == ("completed", 4)
    suites = ElementTree.parse("rules.xml").getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("3", "1")
    assert "threshold.tag.환불 요청.mrr=0.1" in Path("x/summary.md").read_text(encoding="utf-8")
    assert "Thresholds" in Path("x/report.html").read_text(encoding="utf-8")


def test_another_threshold_runs_nothing_anew() -> None:
    assert main([*WORDS, "threshold.recall_at_5=0.9", "out=x"]) == 4
    rows, fingerprint = Path("x/per_item.jsonl").read_bytes(), read("x/run.json")["fingerprint"]
    assert main([*WORDS, "threshold.recall_at_5=0.7", "out=x"]) == 0
    assert Path("x/per_item.jsonl").read_bytes() == rows and read("x/run.json")["fingerprint"] == fingerprint
    assert statuses("x/summary.json") == [("recall_at_5", "", "passed")]
    assert main([*WORDS, "out=x"]) == 0 and "thresholds" not in read("x/summary.json")
    assert not list(Path("x").glob("per_item.before*"))


def test_from_yaml_and_in_each_cell_of_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own/experiment").mkdir(parents=True)
    Path("own/experiment/asked.yaml").write_text(
        "# @package _global_\nthreshold:\n  hit_rate_at_k: 0.75\n  tag: {환불 요청: {hit_rate_at_k: 0.3}}\n",
        encoding="utf-8",
    )
    words = ["--config-dir", "own", "+experiment=asked", "dataset.queries=queries.jsonl,few.jsonl", "out=sweep"]
    lines = Path("queries.jsonl").read_text(encoding="utf-8").splitlines()
    Path("few.jsonl").write_text("\n".join(lines[5:]) + "\n", encoding="utf-8")
    rest = [word for word in WORDS if not word.startswith("dataset.queries")]
    assert main([*rest, *words]) == 4
    outcomes = [(cell["status"], cell["exit_code"]) for cell in read("sweep/sweep.json")["cells"]]
    assert outcomes == [("completed", 0), ("completed", 4)]
    assert "Threshold: 1 of 2 not reached: Hit Rate@5 0.6000" in capsys.readouterr().err


def test_beside_a_baseline() -> None:
    assert main([*WORDS, "out=base"]) == 0
    words = ["compare=base", "threshold.recall_at_5=0.9", "regression=strict", "out=x", "junit=rules.xml"]
    assert main([*WORDS, *words]) == 4
    suites = ElementTree.parse("rules.xml").getroot()
    assert len(suites) == 2 and suites.get("failures") == "1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["threshold.recal_at_5=0.8"], "threshold.recal_at_5: nothing declares which way 'recal_at_5' is better; did"),
        (["threshold.right=0.8"], "threshold.right: nothing declares which way 'right' is better"),
        (["threshold.recall_at_4=0.8"], "threshold.recall_at_4: the run has no cutoff 4"),
        (["threshold.mrr=0.8,0.9"], "threshold.mrr: expected a number, got '0.8,0.9'"),
        (["threshold=0.8"], "threshold: expected a mapping (threshold.NAME=VALUE), got 0.8"),
        (["threshold.tag.환불.mrr.mrr=x"], "threshold.tag.환불.mrr.mrr: expected a number, got 'x'"),
        (["junit=rules.xml"], "junit: needs a run to compare with; give one with compare=BASELINE, or a value to"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, *words, "out=x"]) == 1
    assert message in capsys.readouterr().err
    assert not Path("x").exists()


def test_a_slice_that_no_case_is_in_is_an_error_before_the_first_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "threshold.tag.환불요청.mrr=0.5", "out=x"]) == 1
    assert (
        "threshold.tag.환불요청.mrr: no case has the tag '환불요청'; did you mean '환불 요청'?"
        in capsys.readouterr().err
    )
    assert not Path("x/per_item.jsonl").exists()


def test_a_sweep_has_one_file_with_a_suite_for_each_run(tmp_path: Path) -> None:
    """Limits alone, without a baseline; a metric by the name that people write; and none is green on a page."""
    from runner.commands.serve.runs import Runs

    assert main([*WORDS, "threshold.recall@5=0.75", "k=1,5", "threshold.mrr=0.9", "out=x", "junit=rules.xml"]) == 4
    suites = ElementTree.parse("rules.xml").getroot()
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("k=1", "3", "1"), ("k=5", "3", "1"),
    ]  # fmt: skip
    assert (suites.get("tests"), suites.get("failures")) == ("6", "2")
    runs = Runs(tmp_path, None)
    assert [run.is_missed for run in runs.all()] == [True, True]
