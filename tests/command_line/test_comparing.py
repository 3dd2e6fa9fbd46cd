"""Whole commands that compare: a run with a baseline, a sweep with one, and runs that are there."""

import html
import json
import re
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from runner.cli import main
from runner.tracking.mlflow_client import connect
from tests.small_data import write_jsonl

NOUNS = ["감자", "고구마", "당근", "양파", "마늘", "오이", "호박", "배추", "상추", "시금치", "토마토", "가지"]


WORDS = [
    "dataset=jsonl", "dataset.corpus=corpus.jsonl", "dataset.queries=queries.jsonl", "retriever=keyword",
    "tracking=none",
]  # fmt: skip


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    write_data()
    return list(WORDS)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`words`: a run of the usual tokenizer; `pairs`: of letter pairs."""
    with chdir(tmp_path_factory.mktemp("finished")):
        write_data()
        assert main([*WORDS, "out=words"]) == 0
        assert main([*WORDS, "tokenizer=bigram", "out=pairs"]) == 0
        return Path.cwd()


@pytest.fixture
def ran(finished: Path) -> Callable[[str, str], None]:
    """`ran(name, out)`: that finished run and its cache, as if it had been run here into `out`."""

    def copied(name: str, out: str) -> None:
        shutil.copytree(finished / name, out)
        shutil.copytree(finished / ".runner_cache", ".runner_cache", dirs_exist_ok=True)

    return copied


def write_data() -> None:
    """Questions whose nouns carry particles: letter pairs find their documents, words do not."""
    documents = [{"id": f"d{n:02d}", "title": "", "text": f"{noun} 밭은 남쪽에 있다"} for n, noun in enumerate(NOUNS)]
    write_jsonl(Path("corpus.jsonl"), documents)
    write_queries()


def write_queries(**changes: dict[str, Any]) -> None:
    """`changes` to questions, by id."""
    rows = [
        {
            "id": f"q{n:02d}",
            "query": f"{noun}에서는?",
            "answerable": True,
            "expected_notes": [f"d{n:02d}"],
            "language": "ko",
        }
        for n, noun in enumerate(NOUNS)
    ]
    write_jsonl(Path("queries.jsonl"), [{**row, **changes.get(str(row["id"]), {})} for row in rows])


def read(path: str) -> dict[str, Any]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_the_same_again_is_within_noise(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*data, "out=first"]) == 0
    assert main([*data, "out=second", "compare=first", "fail_on_regression=true"]) == 0
    record = read("second/compare.json")
    assert {entry["verdict"] for entry in record["metrics"]} == {"within_noise"} and record["verdict"] == "within_noise"
    assert "second against first: within noise" in capsys.readouterr().out
    assert not Path("first/compare.json").exists()
    first, second = read("first/snapshot.json"), read("second/snapshot.json")
    assert (first["cases"].pop("latency_ms"), first["cases"]) != (None, None)
    second["cases"].pop("latency_ms")
    assert first["cases"] == second["cases"] and first["identity"] == second["identity"]


def plain_text(shown: str) -> str:
    """Without line breaks, tags, escapes and the marks of Markdown."""
    return " ".join(re.sub(r"<[^>]+>|[\\\\*>|]", " ", html.unescape(shown)).split())


def test_all_that_is_written_of_a_comparison_says_the_same(
    data: list[str], own_mlflow_store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four of 20 questions are lost, none won: p = 1/8. A gate that demands evidence sees no loss below .37 there."""
    found_anyway = {f"q{n:02d}": {"query": f"{noun} 밭은 남쪽에?"} for n, noun in enumerate(NOUNS) if n >= 4}
    write_queries(**found_anyway)
    rows = [json.loads(line) for line in Path("queries.jsonl").read_text(encoding="utf-8").splitlines()]
    again = [{**row, "id": f"r{row['id']}"} for row in rows if row["id"] in found_anyway]
    write_jsonl(Path("queries.jsonl"), [*rows, *again])
    assert main([*data, "tokenizer=bigram", "out=pairs", "cluster=none"]) == 0
    words = ["tokenizer=word", "compare=pairs", "regression=strict", "junit=gate.xml", "fail_on_regression=true"]
    words += ["tracking=mlflow", f"tracking.uri={own_mlflow_store}", "cluster=none", "out=words"]
    capsys.readouterr()
    assert main([*data, *words]) == 0
    record = read("words/compare.json")
    (recall,) = (entry for entry in record["metrics"] if entry["name"] == "recall_at_k")
    assert (recall["n_paired"], recall["mcnemar"]["b"], recall["mcnemar"]["c"], recall["p"]) == (20, 4, 0, 0.125)
    assert (record["verdict"], recall["verdict"]) == ("inconclusive", "inconclusive")
    assert recall["ci_low"] < 0 < recall["ci_high"]  # as p is not below .05
    rule = record["gate"]["rules"][0]
    assert (rule["status"], rule["p_holm"], rule["detectable"]) == ("underpowered", recall["p_holm"], recall["mde"])
    client = connect(own_mlflow_store)
    (tracked,) = client.search_runs([client.get_experiment_by_name("retrieval_only").experiment_id])
    assert (tracked.data.tags["verdict"], tracked.data.tags["regression"]) == ("inconclusive", "underpowered")
    uploaded = Path(client.download_artifacts(tracked.info.run_id, "summary.md", str(Path.cwd()))).read_text("utf-8")
    junit = ElementTree.parse("gate.xml").getroot()
    (output,) = junit.iter("system-out")
    sides = {
        "terminal": capsys.readouterr().out,
        "summary.md": Path("words/summary.md").read_text(encoding="utf-8"),
        "report.html": Path("words/report.html").read_text(encoding="utf-8"),
        "MLflow": uploaded,
    }
    found = "20 pairs find a difference of 0.37 in Recall@5 in four of five tries, and one of 0.05 in 1 of 100."
    warned = (
        "Underpowered: a loss of 0.02 matters, but the smallest that the rules find in four of five tries is larger"
    )
    for name, shown in sides.items():
        text = plain_text(shown)
        assert found in text and warned in text and "No regression rule fired." in text, name
        assert "rules fired (" not in text and "inconclusive" in text.lower(), name
    assert found in str(output.text) and "No regression rule fired." in str(output.text)
    skipped = {case.get("name"): case.find("skipped").get("message") for case in junit.iter("testcase") if len(case)}  # type: ignore[union-attr]
    assert skipped["Recall@5"] == ("underpowered: Recall@5 finds a loss of 0.37 in four of five tries, 0.02 matters")
    assert junit.get("failures") == "0" and int(junit.get("skipped") or 0) == len(skipped) >= 1


def test_worse(data: list[str], ran: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]) -> None:
    ran("pairs", "pairs")
    words = ["tokenizer=word", "compare=pairs", "junit=gate.xml", "save_snapshot=새 폴더/words.json"]
    assert main([*data, *words, "out=words", "fail_on_regression=true"]) == 4
    shown = capsys.readouterr()
    assert "words against pairs: worse" in shown.out
    assert "error: Regression: 3 of 4 rules fired (Hit Rate@3, MRR@10, Precision@5). See words/compare.md." in shown.err
    run, record = read("words/run.json"), read("words/compare.json")
    assert (run["status"], run["exit_code"]) == ("completed", 4)
    assert run["error_message"].startswith("Regression: 3 of 4 rules fired")
    assert [setting["key"] for setting in record["config_difference"]] == ["tokenizer"]
    assert len(record["flips"]["lost"]) == 12
    text = Path("words/compare.md").read_text(encoding="utf-8")
    assert "감자에서는?" in text and "(rank 1 → –)" in text
    assert "## Comparison with pairs" in Path("words/summary.md").read_text(encoding="utf-8")
    assert ElementTree.parse("gate.xml").getroot().get("failures") == "3"
    assert Path("새 폴더/words.json").read_bytes() == Path("words/snapshot.json").read_bytes()
    assert main([*data, "tokenizer=word", "compare=새 폴더/words.json", "out=again"]) == 0
    assert main([*data, "tokenizer=word", "compare=pairs", "out=told"]) == 0  # nobody asked to fail


def test_in_korean(data: list[str], ran: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]) -> None:
    ran("pairs", "글자쌍")
    main([*data, "tokenizer=word", "out=낱말", "compare=글자쌍", "report.language=ko"])
    assert "낱말 (기준 글자쌍): 악화" in capsys.readouterr().out
    assert "결과가 뒤집힌 질문" in Path("낱말/compare.md").read_text(encoding="utf-8")


def test_a_sweep(data: list[str], ran: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]) -> None:
    ran("pairs", "base")
    sweep = [
        *data,
        "tokenizer=bigram,word",
        "out=sweep",
        "compare=base",
        "regression=strict",
        "fail_on_regression=true",
    ]
    assert main(sweep) == 4
    assert [cell["exit_code"] for cell in read("sweep/sweep.json")["cells"]] == [0, 4]
    assert read("sweep/sweep.json")["status"] == "completed"
    assert [read(f"sweep/{n}/compare.json")["verdict"] for n in (0, 1)] == ["within_noise", "worse"]
    said = capsys.readouterr().err
    assert said.count("Regression: 3 of 4 rules fired") == 1
    assert "error: 1 of 2 runs ended with an error: run 1 (tokenizer=word)\n" in said


def test_the_latest_run_is_not_a_sister(data: list[str]) -> None:
    assert main([*data, "tokenizer=bigram", "dataset=jsonl"]) == 0
    (latest,) = Path("outputs").glob("2*")
    assert main([*data, "tokenizer=word,bigram", "compare=latest:retrieval_only"]) == 0
    sweep = next(path for path in Path("outputs").glob("2*") if path != latest)
    assert {read(f"{sweep}/{n}/compare.json")["baseline"]["label"] for n in (0, 1)} == {str(latest)}


def test_other_labels_are_not_comparable(
    data: list[str], ran: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    ran("words", "before")
    write_queries(q03={"expected_notes": ["d03", "d04"]})
    data = [*data, "comparability=strict"]
    assert main([*data, "out=after", "compare=before"]) == 5
    assert "error: Not comparable: the two runs were not measured in the same way (other labels in cases: 1)" in (
        capsys.readouterr().err
    )
    assert read("after/run.json")["exit_code"] == 5 and read("after/compare.json")["pairing"]["new_gold"] == ["q03"]
    assert main([*data, "out=anyway", "compare=before", "allow_incomparable=true"]) == 0
    mrr = next(entry for entry in read("anyway/compare.json")["metrics"] if entry["name"] == "mrr")
    assert (mrr["n_paired"], mrr["caveats"][0]["cases"]) == (11, ["q03"])


def test_other_documents_are_not_comparable(data: list[str], ran: Callable[[str, str], None], tmp_path: Path) -> None:
    ran("words", "before")
    with (tmp_path / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "new", "title": "", "text": "콩밭"}\n')
    assert main([*data, "out=after", "compare=before", "comparability=strict"]) == 5
    assert "different documents" in Path("after/compare.md").read_text(encoding="utf-8")


def test_other_chunks_are_a_treatment(data: list[str], tmp_path: Path) -> None:
    """Documents of two paragraphs, in one chunk or in two: d00#1 is gone, and stands in d00#0."""
    texts = [f"{noun} 밭은 남쪽에 있다\n\n{noun} 창고는 북쪽에 있다" for noun in NOUNS]
    write_jsonl(tmp_path / "corpus.jsonl", [{"id": f"d{n:02d}", "text": text} for n, text in enumerate(texts)])
    write_queries(q00={"expected_chunks": ["d00#1"]}, q01={"expected_chunks": ["d01#0"]})
    small = ["dataset.chunker.max_chars=20", "dataset.chunker.min_chars=0", "dataset.chunker.overlap=0"]
    main([*data, *small, "out=small"])
    assert main([*data, "out=large", "compare=small"]) == 0
    record = read("large/compare.json")
    assert record["pairing"]["anchored"] == {"cases": 2, "moved": 1, "vanished": 1}
    recall = next(entry for entry in record["metrics"] if entry["name"] == "chunk/recall_at_5")
    assert (recall["n_paired"], recall["candidate"]) == (2, 1.0)
    assert read("large/summary.json")["metrics"]["chunk/recall_at_5"]["value"] == 0.5  # by id alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare=nowhere"], "compare: 'nowhere' is no run: expected a snapshot.json, a run folder, experiments/NAME"),
        (["compare=corpus.jsonl"], "compare: corpus.jsonl: damaged or cut off"),
        (["compare=base/run.json"], "compare: base/run.json: not a snapshot of a run"),
        (["compare=x"], "compare: 'x' is the folder of this run itself"),
        (["compare=latest:full_rag"], "compare: no completed run of the experiment 'full_rag' in ./outputs or MLflow"),
        (["fail_on_regression=true"], "fail_on_regression: needs a run to compare with; give one with compare="),
        (["junit=gate.xml"], "junit: needs a run to compare with; give one with compare="),
        (
            ["save_snapshot=corpus.jsonl"],
            "save_snapshot: would overwrite a file that is no complete snapshot: corpus.jsonl",
        ),
        (
            ["save_snapshot=corpus.jsonl/a/b.json"],
            "save_snapshot: cannot write corpus.jsonl/a/b.json: ",
        ),
        (["save_snapshot=base"], "save_snapshot: base is a folder; expected the name of a file"),
        (
            ["save_snapshot=s.json", "k=3,5"],
            "save_snapshot: this command has several runs, each with a file of its own",
        ),
        (
            ["compare=base", "regression.rules=[{metric: hit_rate_at_4, margin: 0.1}]"],
            "regression.rules.0: the baseline has no metric 'hit_rate_at_4'; did you mean 'hit_rate_at_",
        ),
        (["regression.rules=[{metric: mrr}]"], "regression.rules.0.margin: a value is required"),
        (["regression=stricd"], "regression: no choice 'stricd'; did you mean 'strict'?"),
        (
            ["compare=base", "dry_run=true", "regression.rules=[{metric: mrrr, margin: 1}]"],
            "the baseline has no metric 'mrrr'; did you mean 'mrr'?",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_run_starts(
    data: list[str], ran: Callable[[str, str], None], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran("words", "base")
    if words == ["compare=x"]:
        ran("words", "x")
    before = sorted(path.name for path in Path().iterdir())
    capsys.readouterr()
    assert main([*data, "out=x", *words]) == 1
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == before
    assert json.loads(Path("queries.jsonl").read_text(encoding="utf-8").splitlines()[0])["id"] == "q00"


def test_a_rule_that_the_candidate_cannot_answer_leaves_its_results(
    data: list[str], ran: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    ran("words", "base")
    assert main([*data, "out=x", "compare=base", "cutoffs=[1,5]"]) == 0
    assert "Rules not evaluated: Hit Rate@3, MRR@10." in capsys.readouterr().out
    assert read("x/summary.json")["metrics"]["hit_rate_at_5"]["value"] == 1.0
    assert read("x/run.json")["status"] == "completed"


def test_a_comparison_does_not_outlive_its_run(data: list[str], ran: Callable[[str, str], None]) -> None:
    ran("words", "base")
    main([*data, "out=x", "compare=base"])
    assert Path("x/compare.md").exists()
    main([*data, "out=x"])
    assert not Path("x/compare.md").exists() and not Path("x/compare.json").exists()
    assert "Comparison with" not in Path("x/summary.md").read_text(encoding="utf-8")


def test_json_only(data: list[str]) -> None:
    main([*data, "out=base", "format=json"])
    assert main([*data, "out=x", "compare=base", "format=json"]) == 0
    assert Path("x/compare.json").exists() and not Path("x/compare.md").exists()


def test_in_mlflow(data: list[str], mlflow_store: str) -> None:
    from mlflow import MlflowClient

    tracked = [*data[:-1], "tracking=mlflow", f"tracking.uri={mlflow_store}", "tracking.figures=false"]
    tracked.append(f"tracking.experiment=compared {Path.cwd().name}")
    main([*tracked, "tokenizer=bigram", "out=base"])
    run_id = json.loads(Path("base/.mlflow_run.json").read_text())["run_id"]
    assert main([*tracked, "tokenizer=word", "out=x", f"compare={run_id}", "fail_on_regression=true"]) == 4
    client = MlflowClient(tracking_uri=mlflow_store)
    found = client.get_run(json.loads(Path("x/.mlflow_run.json").read_text())["run_id"])
    tags = found.data.tags
    assert (tags["verdict"], tags["regression"]) == ("worse", "fired")
    assert (tags["baseline"], tags["baseline_run"]) == (f"MLflow run {run_id}", "base")
    artifacts = {item.path for item in client.list_artifacts(found.info.run_id)}
    assert {"compare.json", "compare.md", "snapshot.json"} <= artifacts
    assert read("x/compare.json")["flips"]["lost"][0]["texts"]["question"]
    assert "regression" not in {name.partition(".")[0] for name in found.data.params}


def test_two_runs_by_the_command(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*data, "tokenizer=bigram,word", "out=sweep"])
    capsys.readouterr()
    assert main(["compare", "sweep/0", "sweep/1", "--fail-on-regression", "--rules", "strict", "--out", "c"]) == 4
    assert "sweep/1 against sweep/0: worse" in capsys.readouterr().out
    assert main(["compare", "sweep", "sweep/1"]) == 1
    assert "'sweep' is a sweep; name one of its runs: sweep/0 (tokenizer=bigram)" in capsys.readouterr().err
    assert main(["snapshot", "sweep/0", "zero.json"]) == 0
    assert main(["compare", "zero.json", "sweep/0", "--out", "d"]) == 0
