"""Files of other programs (tests/exports says which are real), as cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from runner.data.exports import assertion_of
from runner.data.logs import Logs, logs_of
from runner.data.problems import ProblemLog
from runner.data.tables import read_table
from runner.errors import DataError

FOLDER = Path(__file__).resolve().parents[2] / "exports"
REFUND = "How long does a refund take?"
SOURCE = "A refund is paid to the card within 14 days."


def read(name: str | Path, **columns: str) -> Logs:
    log = ProblemLog(strict=True)
    path = str(FOLDER / name)
    return logs_of(read_table(path, "FILE", log, DataError), path, "FILE", log, DataError, columns=columns)


def cases(name: str | Path) -> list[dict[str, Any]]:
    return [case for _, case in read(name).cases]


@pytest.mark.parametrize("name", ["ragas.jsonl", "ragas.csv", "ragas.parquet"])
def test_ragas(name: str) -> None:
    logs = read(name)
    assert (logs.form, list(logs.unused_columns)) == ("ragas", [])
    assert [case for _, case in logs.cases] == [
        {
            "id": "row-1",
            "query": REFUND,
            "answerable": True,
            "expected_notes": ["refunds"],
            "answers": ["14 days"],
            "contexts": [{"id": "refunds", "text": SOURCE}, {"id": "shipping", "text": "Shipping costs 4 dollars."}],
            "answer": "A refund takes 14 days. [1]",
        },
        {
            "id": "row-2",
            "query": "배송비는 얼마인가요?",
            "answerable": True,
            "expected_notes": ["배송"],
            "answers": ["4달러"],
            "contexts": [{"id": "배송", "text": "배송비는 4달러이고, 영업일 기준 3일 걸립니다."}],
            "answer": '배송비는 4달러입니다.\n"빠른" 배송은, 별도입니다.',
        },
    ]


def test_a_conversation_of_ragas_is_its_last_question_with_what_was_said_before() -> None:
    (case,) = cases("ragas_multi.jsonl")
    assert (case["query"], case["answer"]) == ("Order 7. When does it arrive?", "It arrives tomorrow.")
    assert case["history"] == [
        {"role": "user", "text": "My order is late."},
        {"role": "assistant", "text": "Which order?"},
    ]


@pytest.mark.parametrize("name", ["mlflow_traces.jsonl", "mlflow_search.csv", "mlflow_genai.json"])
def test_traces_of_mlflow(name: str) -> None:
    logs = read(name)
    assert logs.form == "MLflow traces"
    case = logs.cases[0][1]
    contexts = [{"id": "refunds", "text": SOURCE}, {"id": "shipping", "text": "Shipping costs 4 dollars."}]
    expected = {"query": REFUND, "answer": "A refund takes 14 days.", "contexts": contexts, "answers": ["14 days"]}
    assert {name: case[name] for name in expected} == expected
    assert case["id"].startswith("tr-")
    assert case["created_at"].startswith("2026-11-23T13:25:")


def test_an_evaluation_table_of_mlflow() -> None:
    logs = read("mlflow_table.json")
    assert (logs.form, dict(logs.column_names)) == (
        "JSON",
        {"question": "inputs", "answer": "outputs", "contexts": "context", "reference": "ground_truth"},
    )
    assert logs.cases[1][1] == {
        "id": "row-2",
        "query": "배송비는?",
        "answerable": True,
        "expected_notes": [],
        "answers": ["4달러"],
        "contexts": ["배송비는 4달러"],
        "answer": "4달러",
    }


def test_runs_of_langsmith_are_one_case_a_root_run() -> None:
    logs = read("langsmith_runs.jsonl")
    assert logs.form == "LangSmith runs"
    ((_, case),) = logs.cases
    assert case == {
        "id": "00000000-0000-0000-0000-000000000001",
        "query": REFUND,
        "answerable": True,
        "expected_notes": [],
        "contexts": [{"id": "refunds.md", "text": SOURCE}],
        "answer": "A refund takes 14 days.",
        "tags": ["prod"],
        "created_at": "2026-03-01T09:00:00+00:00",
    }


def test_outputs_of_examples_of_langsmith_are_references() -> None:
    logs = read("langsmith_examples.jsonl")
    assert (logs.form, logs.cases[0][1]["answers"], "answer" in logs.cases[0][1]) == (
        "LangSmith examples",
        ["14 days"],
        False,
    )


def test_traces_of_langfuse() -> None:
    first, second = cases("langfuse_traces.jsonl")
    assert (first["id"], first["query"], first["answer"]) == ("t-1", REFUND, "A refund takes 14 days.")
    assert (first["contexts"], first["tags"]) == ([{"id": "refunds.md", "text": SOURCE}], ["prod"])
    assert (second["query"], second["answer"]) == ("배송비는 얼마인가요?", "배송비는 4달러입니다.")
    assert "contexts" not in second


def test_observations_of_langfuse_are_one_case_a_trace() -> None:
    (case,) = cases("langfuse_observations.jsonl")
    assert (case["id"], case["query"], case["answer"]) == ("t-1", REFUND, "A refund takes 14 days.")
    assert case["contexts"] == [{"id": "refunds", "text": SOURCE}]


def test_a_trace_of_langfuse_that_was_downloaded_alone(tmp_path: Path) -> None:
    first = json.loads((FOLDER / "langfuse_traces.jsonl").read_text(encoding="utf-8").splitlines()[0])
    observations = first.pop("observations")
    path = tmp_path / "trace-t-1.json"
    path.write_text(json.dumps({"trace": first, "observations": observations, "scores": []}), encoding="utf-8")
    assert [case["contexts"] for case in cases(path)] == [[{"id": "refunds.md", "text": SOURCE}]]


def test_items_of_a_data_set_of_langfuse() -> None:
    logs = read("langfuse_items.json")
    assert (logs.form, logs.cases[0][1]["query"], logs.cases[0][1]["answers"]) == (
        "Langfuse data set",
        REFUND,
        ["14 days"],
    )


# --- promptfoo --------------------------------------------------------------------------------------


def test_results_of_promptfoo_bring_answers_and_checks() -> None:
    logs = read("promptfoo_results.json")
    assert logs.form == "promptfoo results"
    first = logs.cases[0][1]
    assert first == {
        "id": "q1",
        "query": REFUND,
        "answerable": True,
        "expected_notes": [],
        "contexts": [SOURCE],
        "answer": "A refund takes 14 days. [1]",
        "checks": [
            {"type": "not-contains", "value": "As an AI"},
            {"type": "contains", "value": "14 days"},
            {"type": "icontains", "value": "REFUND"},
            {"type": "starts-with", "value": "A refund"},
            {"type": "regex", "value": "\\d+ days"},
        ],
    }
    assert logs.cases[2][1]["answer"] == '{"fee": 4, "currency": "USD"}'  # a text, though it is JSON


def test_a_configuration_of_promptfoo_is_the_same_tests_without_answers() -> None:
    of_results = [{"id": case["id"], "checks": case["checks"]} for case in cases("promptfoo_results.json")]
    of_tests = cases("promptfoo.yaml")
    assert [{"id": case["id"], "checks": case["checks"]} for case in of_tests] == of_results
    assert all("answer" not in case for case in of_tests)
    assert of_tests[0]["contexts"] == [SOURCE]


def test_answers_of_several_systems_are_cases_of_their_own(tmp_path: Path) -> None:
    document = json.loads((FOLDER / "promptfoo_results.json").read_text(encoding="utf-8"))
    results = document["results"]["results"]
    other = [{**row, "provider": {"id": "openai:gpt-4o", "label": ""}} for row in results]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({**document, "results": {"results": [*results, *other]}}), encoding="utf-8")
    read_cases = cases(path)
    assert [case["id"] for case in read_cases[::6]] == ["q1@recorded-answers/0", "q1@openai:gpt-4o/0"]
    assert read_cases[6]["tags"] == ["provider:openai:gpt-4o", "prompt:0"]


def test_a_table_of_promptfoo(tmp_path: Path) -> None:
    path = tmp_path / "tests.csv"
    header, row = "question,city,__expected,__expected2", 'Where?,서울,"contains-any:{{city}},Busan",not-icontains:no'
    text = f"{header}\n{row}\n"
    path.write_text(text, encoding="utf-8")
    (case,) = cases(path)
    assert (case["id"], case["query"]) == ("test-1", "Where?")
    checks = [{"type": "contains-any", "value": ["서울", "Busan"]}, {"type": "not-icontains", "value": "no"}]
    assert case["checks"] == checks


def test_a_list_of_values_is_a_test_a_value(tmp_path: Path) -> None:
    path = tmp_path / "tests.yaml"
    text = "- vars: {question: ['A?', 'B?'], context: [c, d]}\n  assert: [{type: contains, value: '{{question}}'}]\n"
    path.write_text(text, encoding="utf-8")
    assert [(case["id"], case["query"], case["contexts"], case["checks"]) for case in cases(path)] == [
        ("test-1", "A?", ["c", "d"], [{"type": "contains", "value": "A?"}]),
        ("test-1#2", "B?", ["c", "d"], [{"type": "contains", "value": "B?"}]),
    ]


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("time: 14:00", {"type": "equals", "value": "time: 14:00"}),
        ("contains: Paris ", {"type": "contains", "value": "Paris"}),
        ('icontains-all:a,"b, ""c"""', {"type": "icontains-all", "value": ["a", 'b, "c"']}),
        ("is-json", {"type": "is-json"}),
        ("similar(0.9):hello", {"type": "similar", "value": "hello", "threshold": 0.9}),
        ("similar:hello", {"type": "similar", "value": "hello", "threshold": 0.75}),
        ("latency(500)", {"type": "latency", "threshold": 500.0}),
        ("fn: output.length > 3", {"type": "javascript", "value": "output.length > 3"}),
        ("grade:is polite", {"type": "llm-rubric", "value": "is polite"}),
    ],
)
def test_what_a_cell_of_promptfoo_means(text: str, assertion: dict[str, Any]) -> None:
    assert assertion_of(text) == assertion
