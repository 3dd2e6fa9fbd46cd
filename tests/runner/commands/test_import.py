"""`import`: what another system answered becomes a queries file, and one command evaluates it."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main

EXPORTS = Path(__file__).resolve().parents[2] / "exports"
LOGS = (
    "질문,챗봇 답변,참고 문서,담당자\n"
    '환불은 얼마나 걸리나요?,"환불은 14일 걸립니다. [1]","[""환불은 14일 안에 카드로 지급됩니다.""]",김\n'
    "배송비는 얼마인가요?,배송비는 9달러입니다.,배송비는 4달러입니다.|||배송은 3일 걸립니다.,이\n"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(path: str = "queries.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def evaluate(printed: str) -> dict[str, Any]:
    """By the command that was printed last; the summary of the run."""
    command = shlex.split(printed.splitlines()[-1])
    assert command[:3] == ["python", "-m", "runner"]
    assert main([*command[3:], "tracking=none", "out=run"]) == 0
    summary: dict[str, Any] = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))
    return summary


def test_a_korean_csv_of_excel_is_imported_and_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("logs.csv").write_bytes(LOGS.encode("cp949"))
    assert main(["import", "logs.csv"]) == 0
    printed = capsys.readouterr().out
    assert printed == (
        "logs.csv: CSV (CP949), 2 rows\n"
        "  question       질문\n"
        "  answer         챗봇 답변\n"
        "  contexts       참고 문서\n"
        "  left out       담당자\n"
        "Without reference answers: correctness cannot be computed; faithfulness and relevancy decide whether an "
        "answer is right.\n"
        "Without gold documents: recall, precision, MRR and nDCG cannot be computed.\n"
        "queries.jsonl: 2 cases\n"
        "\n"
        "To evaluate it (judge=openai judge.model=… asks a model):\n"
        "  python -m runner +experiment=full_rag dataset=jsonl dataset.corpus=null dataset.queries=queries.jsonl "
        "retriever=given generator=given\n"
    )
    assert lines()[1] == {
        "id": "row-2",
        "query": "배송비는 얼마인가요?",
        "answerable": True,
        "expected_notes": [],
        "contexts": ["배송비는 4달러입니다.", "배송은 3일 걸립니다."],
        "answer": "배송비는 9달러입니다.",
    }
    summary = evaluate(printed)
    assert summary["metrics"]["mean_faithfulness"]["n"] == 2
    assert summary["metrics"]["right"]["value"] == 0.5
    assert "recall_at_k" not in summary["metrics"] or summary["metrics"]["recall_at_k"]["n"] == 0


def test_columns_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("a,b,docs,ref\nQ?,A.,c / d,r\n", encoding="utf-8")
    words = ["question=a", "--answer", "b", "contexts=docs", "reference=ref", "separator= / ", "out=out.jsonl"]
    assert main(["import", "x.csv", *words]) == 0
    assert lines("out.jsonl") == [
        {
            "id": "row-1",
            "query": "Q?",
            "answerable": True,
            "expected_notes": [],
            "answers": ["r"],
            "contexts": ["c", "d"],
            "answer": "A.",
        }
    ]
    assert "dataset.queries=out.jsonl" in capsys.readouterr().out


def test_answers_alone_are_judged_by_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("question,answer\nHow long is it?,It is long.\nWhy?,\n", encoding="utf-8")
    assert main(["import", "x.csv"]) == 0
    printed = capsys.readouterr().out
    assert "  answer         answer  (1 of 2 rows)\n1 answers are blank: each counts as no answer\n" in printed
    assert "Without contexts: faithfulness and the metrics of retrieval cannot be computed.\n" in printed
    summary = evaluate(printed)
    assert summary["metrics"]["mean_answer_relevancy"]["n"] == 1
    assert summary["metrics"].get("mean_faithfulness", {"n": 0})["n"] == 0
    rows = [json.loads(line) for line in Path("run/per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["labels"].get("lost_at") for row in sorted(rows, key=lambda row: str(row["id"]), reverse=True)] == [
        "no_answer",
        None,
    ]


OF_OTHERS = ("ragas.csv", "ragas.parquet", "mlflow_traces.jsonl", "mlflow_table.json", "langsmith_runs.jsonl")


@pytest.mark.parametrize("name", [*OF_OTHERS, "langfuse_observations.jsonl"])
def test_exports_of_others_are_evaluated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(EXPORTS / name)]) == 0
    summary = evaluate(capsys.readouterr().out)
    assert (summary["cases"]["failed"], summary["metrics"]["right"]["value"]) == (0, 1.0)


def test_in_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(EXPORTS / "ragas_multi.jsonl"), "--language", "ko"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{EXPORTS}/ragas_multi.jsonl: ragas, 1행\n")
    assert "컨텍스트가 없습니다. 충실도와 검색 메트릭은 알 수 없습니다.\n" in printed


def test_rows_without_a_question_and_ids_that_come_twice(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("id,question,answer\n1,A?,a\n2, ,b\n1,C?,c\n", encoding="utf-8")
    assert main(["import", "x.csv"]) == 0
    assert [line["id"] for line in lines()] == ["1", "1#2"]
    captured = capsys.readouterr()
    assert captured.err == "skipped x.csv:3: expected a question, found a blank cell\n"
    assert "1 ids are repeated: they got a number (ID#2)\n" in captured.out
    Path("queries.jsonl").unlink()
    assert main(["import", "x.csv", "--strict"]) == 1
    assert not Path("queries.jsonl").exists()


def test_questions_without_answers_wait_for_a_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(EXPORTS / "promptfoo.yaml")]) == 0
    printed = capsys.readouterr().out
    assert (
        "Without answers there is nothing to judge yet: a generator of this program, or a system, has to answer."
        in printed
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv"], "FILE: file not found: none.csv"),
        (["x.csv", "out=x.csv"], "out: x.csv exists; name another file, or remove it"),
        (["x.csv", "out=no/y.jsonl"], "out: no is not a folder that can be written to"),
        (["x.csv", "answer=c"], "answer: no column 'c'; it has: a, b"),
        (["x.csv"], "FILE: no column of x.csv looks like a question; name it: question=COLUMN; it has: a, b"),
        (["empty.csv"], "FILE: no rows in empty.csv"),
        (
            ["x.csv", "question=b", "encoding=none"],
            "FILE: no encoding 'none'; expected one such as utf-8, cp949 or utf-16",
        ),
    ],
)
def test_wrong_words(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("empty.csv").write_text("question,answer\n", encoding="utf-8")
    assert main(["import", *words]) == 1
    assert capsys.readouterr().err == f"error: {message}\n"


def test_assertions_pass_and_fail_as_in_promptfoo(capsys: pytest.CaptureFixture[str]) -> None:
    """Each by its place, on the answers that promptfoo 0.121 judged."""
    export = EXPORTS / "promptfoo_results.json"
    assert main(["import", str(export)]) == 0
    printed = capsys.readouterr().out
    assert "Assertions without a corresponding check are left out: contains-json (1)\n" in printed
    evaluate(printed)
    theirs = {
        result["vars"]["id"]: [
            component["pass"]
            for component in result["gradingResult"]["componentResults"]
            if component["assertion"]["type"] != "contains-json"
        ]
        for result in json.loads(export.read_text(encoding="utf-8"))["results"]["results"]
    }
    rows = [json.loads(line) for line in Path("run/per_item.jsonl").read_text(encoding="utf-8").splitlines()]
    ours = {row["id"]: [check["passed"] for check in row["judgements"]["checks"]["details"]["checks"]] for row in rows}
    assert ours == theirs
    assert sum(len(passed) for passed in ours.values()) == 31
    assert {row["id"] for row in rows if row["metrics"]["checks"] == 1} == {"q1", "q3", "q4"}


def test_providers_of_promptfoo_become_runs_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file for each, whose cases have the same ids; what is not taken is named."""
    document = json.loads((EXPORTS / "promptfoo_results.json").read_text(encoding="utf-8"))
    results = document["results"]["results"]
    for row in results:
        row["vars"]["tone"] = "kind"
    other = [{**row, "provider": {"id": "openai:gpt-4o", "label": ""}, "score": 0.5} for row in results]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**document, "results": {"results": [*results, *other]}}), encoding="utf-8")
    assert main(["import", str(path), "--out", "q.jsonl"]) == 0
    files = [Path("q.recorded-answers-0.jsonl"), Path("q.openai-gpt-4o-0.jsonl")]
    lines = [[json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files]
    assert [case["id"] for case in lines[0]] == [case["id"] for case in lines[1]] and len(lines[0]) == len(results)
    assert all("tags" not in case for case in lines[1]) and not Path("q.jsonl").exists()
    shown = capsys.readouterr().out
    assert "vars.tone, score, success" in shown
    assert "compare outputs/q.recorded-answers-0 outputs/q.openai-gpt-4o-0" in shown
    assert "dataset.queries=q.openai-gpt-4o-0.jsonl" in shown and "out=outputs/q.openai-gpt-4o-0" in shown
