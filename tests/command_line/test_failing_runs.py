"""Data, components and processes that fail while a run is under way."""

import json
from pathlib import Path

import pytest

from runner.cli import main
from tests.command_line.result_files import read, rows
from tests.command_line.started import ended, generated_by
from tests.small_data import write_jsonl


def test_a_bad_line_is_skipped_counted_and_listed_or_stops_a_strict_run(data: list[str], tmp_path: Path) -> None:
    queries = tmp_path / "자료 (1)" / "queries.jsonl"
    queries.write_text("{broken\n" + queries.read_text(encoding="utf-8"), encoding="utf-8")
    assert main([*data, "out=x"]) == 0
    (problem,) = [json.loads(line) for line in Path("x/errors.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (problem["stage"], problem["line"]) == ("data", 1)
    assert read("x/summary.json")["data_problems"] == {"errors": 1, "warnings": 0}
    assert main([*data, "dry_run=true"]) == 1
    assert main([*data, "strict=true", "out=y"]) == 1
    assert read("y/run.json")["status"] == "failed"


def test_a_sweep_ends_with_the_gravest_code_and_lists_every_failure(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = next(word for word in data if word.startswith("dataset.queries=")).partition("=")[2]
    empty = write_jsonl(tmp_path / "empty.jsonl", [])
    useless = write_jsonl(tmp_path / "useless.jsonl", [{"id": "a"}])
    words = [word for word in data if not word.startswith("dataset.queries=")]
    assert main([*words, f"dataset.queries='{good}',{empty},{useless}", "out=s"]) == 1
    errors = capsys.readouterr().err
    assert "run 1 (" in errors and "run 2 (" in errors
    state = read("s/sweep.json")
    assert [cell["exit_code"] for cell in state["cells"]] == [0, 1, 1]
    assert state["status"] == "partial"


def test_without_a_usable_case_the_lines_are_named(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a"}\n', encoding="utf-8")
    words = [word for word in data if not word.startswith("dataset.queries=")]
    assert main([*words, f"dataset.queries={broken}", "out=x"]) == 1
    assert f"{broken}:1: query: expected text, found nothing" in capsys.readouterr().err


def test_a_bug_is_one_line_and_a_log_never_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "buggy.py").write_text("class Buggy:\n    def load(self):\n        return 1 / 0\n", encoding="utf-8")
    settings = ["~dataset.language", "~dataset.chunker", "~dataset.strict", "dataset._target_=buggy.Buggy"]
    done = ended("retriever=keyword", "tracking=none", "out=x", *settings)
    assert done.returncode == 1  # of the stage that reads data
    assert done.stderr == (
        "error: dataset (buggy.Buggy): load: ZeroDivisionError: division by zero (buggy, line 3); "
        "x/error.log has the details\n"
    )
    assert "Traceback" in Path("x/error.log").read_text(encoding="utf-8")


def test_a_case_past_its_deadline_is_a_timeout_even_while_it_computes(data: list[str]) -> None:
    busy = generated_by(
        "busy",
        "import time\n"
        "from runner.system.threads import compute\n"
        "await compute(time.sleep, 1 if query.id == 'q1' else 0)\n"
        "return Answer('27 days')",
    )
    words = ["+experiment=full_rag", *data, *busy, "case_timeout_ms=500", "out=x"]
    assert ended(*words, "max_failure_rate=0.5", "max_concurrency=1").returncode == 0
    assert {id: row["status"] for id, row in rows("x").items() if row["status"] != "ok"} == {"q1": "timeout"}
    recall = read("x/summary.json")["metrics"]["recall_at_k"]
    assert (recall["n"], recall["n_scored"]) == (6, 6)  # what was found for q1 is known


def test_a_query_without_a_given_ranking_fails(data: list[str]) -> None:
    words = [word for word in data if not word.startswith("retriever")]
    assert main([*words, "retriever=given", "out=x"]) == 3
    row = rows("x")["q1"]
    expected = "query q1: ranking: missing, and no contexts either; retriever=given needs one"
    assert (row["status"], row["error"]) == ("failed", expected)


def test_a_tracking_store_that_breaks_costs_no_result(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "tracker.py").write_text(
        "class Broken:\n"
        "    def prepare(self):\n        raise ConnectionError('prepare')\n"
        "    def upload(self, folder):\n        raise ConnectionError('upload')\n"
        "    def upload_sweep(self, folder):\n        raise ConnectionError('upload_sweep')\n",
        encoding="utf-8",
    )
    done = ended(*data, "tracking._target_=tracker.Broken", "k=1,2", "out=x")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert (
        "warning: tracking failed: tracking (tracker.Broken): upload_sweep: ConnectionError: upload_sweep "
        "(tracker, line 7)" in done.stderr
    )


@pytest.mark.slow  # test_launchers.py has one that is resumed
def test_a_worker_that_is_killed_leaves_a_failed_run(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "killer.py").write_text(
        "import os, signal\n"
        "class Killer:\n"
        "    def __init__(self, *, at: int, graph_rerank: bool | None): self.at = at\n"
        "    def index(self, corpus, workspace):\n"
        "        if self.at == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return {}\n"
        "    def search(self, queries, depth):\n"
        "        from runner.records import Ranking\n"
        "        return [Ranking((), (), ()) for _ in queries]\n",
        encoding="utf-8",
    )
    words = [word for word in data if not word.startswith("retriever")]
    settings = [f"~retriever.{name}" for name in ("tokenizer", "method", "k1", "b", "filter", "graph_weight")]
    words += ["retriever=keyword", *settings, "retriever._target_=killer.Killer", "++retriever.at=1,2"]
    words += ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "format=json", "out=x"]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # of the workers
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(words) == 3
    said = capsys.readouterr().err
    assert "did not finish" in said and "Traceback" not in said
    assert read("x/sweep.json")["status"] == "partial"


def test_failed_judgements_count_in_the_failure_share(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "mute.py").write_text(
        "from runner.records import Judgement\n"
        "class Mute:\n"
        "    on_failure = 'exclude'\n"
        "    async def judge(self, rubric, fields):\n"
        "        return Judgement(None, error='no JSON')\n",
        encoding="utf-8",
    )
    settings = [f"~judge.{name}" for name in ("on_failure", "supported", "health")]
    done = ended("+experiment=full_rag", *data, "judge._target_=mute.Mute", *settings, "out=x")
    assert done.returncode == 3
    assert "6 of 8 cases failed or lack a score (75.0%, max_failure_rate is 5.0%)" in done.stderr
    faithfulness = read("x/summary.json")["metrics"]["mean_faithfulness"]  # not of the two refusals
    assert (faithfulness["value"], faithfulness["n"], faithfulness["n_scored"]) == (None, 6, 0)
    assert read("x/summary.json")["metrics"]["recall_at_k"]["n_scored"] == 6
    errors = [json.loads(line) for line in Path("x/errors.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = ["faithfulness", "answer_relevancy", "answer_correctness", "right"]
    assert len(errors) == 6 and errors[0]["unscored"] == expected
