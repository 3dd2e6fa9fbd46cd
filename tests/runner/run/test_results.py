import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.records import DataProblem, Judgement, Preparation, RoleCost, Row, Timing
from runner.run.engine import INTERRUPTED, Stop
from runner.run.job import Outcome
from runner.run.results import Finished, outcome_of, summary_of, write_errors
from runner.system.journal import Journal

OPTIONS: Any = SimpleNamespace(max_failure_rate=0.25)


def summary(ok: int, failed: int = 0, timeout: int = 0, unscored: int = 0, total: int = 20) -> dict[str, Any]:
    cases = {"ok": ok, "failed": failed, "timeout": timeout, "unscored": unscored, "total": total}
    return {"cases": cases}


def row(id: str, **fields: Any) -> dict[str, Any]:
    plain = {"status": "ok", "stage": None, "error": None, "unscored": [], "judgements": {}}
    return {"id": id, **plain, **fields}


class Summed:
    """An evaluation of the component `novelty`, with numbers of its own and a part that it does not use."""

    idle = ("reranker",)

    def sums(self, rows: Any) -> dict[str, Any]:
        return {"ids": [row["id"] for row in rows], "timing": {"latency": {"lookup": {"n": 1}}}}


PARTS: Any = {
    "judge": SimpleNamespace(baseline=True),
    "reranker": SimpleNamespace(baseline=True),
    "retriever.embedder": SimpleNamespace(baseline=True),
    "generator": SimpleNamespace(),
}


def summed(folder: Path, root: object) -> tuple[dict[str, Any], Finished]:
    votes = Judgement(0.5, details={"votes": {"1": 0.4, "2": 0.6}})
    paid = {"judge": RoleCost(2, 30, 4, 0.5)}
    rows = [
        Row("b", "ok", {"mrr": 1.0}, {}, 3.0, timings={"retrieval": Timing(3.0)}, judgements={"r": votes}, cost=paid),
        Row("a", "failed", {"mrr": None}, None, None, unscored=("mrr",), stage="run", error="HTTP 500"),
        Row("c", "ok", {"mrr": 0.5}, {}, None, judgements={"r": Judgement(None, error="no JSON")}, unscored=("r",)),
        Row("of another sample", "ok", {"mrr": 0.0}, {}, None),
    ]
    job: Any = SimpleNamespace(experiment="x", choices={"judge": "lexical", "retriever/embedder": "lsa"}, cell="0")
    head = {"evaluation_type": "full_rag", "fingerprint": "f", "created_at": "now"}
    problems = [DataProblem(severity, "q.jsonl", "odd", 1, "id") for severity in ("error", "warning", "warning")]
    finished = Finished(problems, list("abcd"), Preparation({"n": 1}, {"prepared_s": 2.0}), None, 1.23456)
    with Journal(folder / "per_item.jsonl") as journal:
        for row in rows:
            journal.append(row)
        components: Any = SimpleNamespace(root=root, parts=PARTS)
        return summary_of(
            job, head, SimpleNamespace(k=5, seed=1, cluster="auto"), components, finished, journal
        ), finished  # type: ignore[arg-type]


def test_the_summary_of_a_run(tmp_path: Path) -> None:
    found, finished = summed(tmp_path, Summed())
    assert found["metrics"]["mrr"]["value"] == 0.75  # of the failed one nothing is known
    assert found["cases"]["total"] == 4
    assert (finished.tally.errors, finished.tally.unfinished) == (["a", "c"], 2)
    assert found["cost"] == {
        "cases": 2, "roles": {"judge": {"requests": 2, "input_tokens": 30, "output_tokens": 4, "usd": 0.5}}
    }  # fmt: skip
    assert found["judging"]["r"]["votes"] == 2
    assert found["ids"] == ["a", "b", "c"]
    assert found["facts"] == {"n": 1, "baselines": ["judge=lexical", "retriever/embedder=lsa"]}
    assert found["data_problems"] == {"errors": 1, "warnings": 2}
    timing = found["timing"]
    assert (timing["elapsed_s"], timing["prepared_s"], timing["created_at"]) == (1.235, 2.0, "now")
    assert set(timing["latency"]) == {"case", "lookup", "retrieval"} and timing["latency"]["retrieval"]["p50_ms"] == 3.0


def test_the_summary_of_an_evaluation_without_numbers_of_its_own(tmp_path: Path) -> None:
    found, _ = summed(tmp_path, SimpleNamespace())
    assert set(found["timing"]["latency"]) == {"case", "retrieval"} and "ids" not in found
    assert found["facts"]["baselines"] == ["judge=lexical", "reranker=SimpleNamespace", "retriever/embedder=lsa"]


def test_a_run_with_few_failures_is_completed() -> None:
    assert outcome_of(summary(ok=15, failed=5), OPTIONS, None, {"x": 5}) == Outcome("completed", 0)


def test_a_run_with_many_failures_tells_the_most_common_reason() -> None:
    errors = {"HTTP 500": 4, "the case did not end before its deadline": 1, "no JSON": 2}
    outcome = outcome_of(summary(ok=15, failed=4, timeout=1, unscored=2), OPTIONS, None, errors)
    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    assert outcome.error_message == (
        "7 of 20 cases failed or lack a score (35.0%, max_failure_rate is 25.0%); errors.jsonl lists them; "
        "4 of them: HTTP 500"
    )


def test_a_long_reason_is_cut() -> None:
    outcome = outcome_of(summary(ok=0, failed=20), OPTIONS, None, {"가" * 301: 20})
    assert str(outcome.error_message).endswith("; 20 of them: " + "가" * 300 + "…")


@pytest.mark.parametrize("failed", [0, 5])
def test_what_stopped_a_run_is_its_message_whatever_else_failed(failed: int) -> None:
    stop = Stop(1, "the model is unknown")
    found = outcome_of(summary(ok=5, failed=failed), OPTIONS, stop, {"x": failed})
    assert found == Outcome("partial", 1, "the model is unknown")


def test_an_interrupt_tells_how_far_the_run_was() -> None:
    found = outcome_of(summary(ok=5, failed=1), OPTIONS, INTERRUPTED, {"x": 1})
    assert found == Outcome("partial", 130, "interrupted after 6 of 20 cases")


def test_errors_are_listed_with_their_reasons_and_counted(tmp_path: Path) -> None:
    problem = DataProblem("error", "queries.jsonl", "expected text", 3, "query")
    silent = {"score": None, "error": "no JSON"}
    rows = [
        row("fine"),
        row("a", status="failed", stage="run", error="HTTP 500", unscored=["faithfulness"]),
        row("b", unscored=["faithfulness", "relevancy"], judgements={"faithfulness": silent, "relevancy": silent}),
        row("c", unscored=["nan"], judgements={"faithfulness": {"score": 1.0, "error": None}}),
        row("d", status="failed", stage="judge", error="HTTP 500"),
    ]
    path = tmp_path / "errors.jsonl"
    assert write_errors(path, [problem], rows) == {"HTTP 500": 2, "no JSON": 1, "not scored: nan": 1}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {
        "id": None, "stage": "data", "severity": "error", "error": "expected text",
        "path": "queries.jsonl", "line": 3, "field": "query",
    }  # fmt: skip
    assert lines[1] == {
        "id": "a", "stage": "run", "status": "failed", "error": "HTTP 500", "unscored": ["faithfulness"]
    }  # fmt: skip
    assert [(line["id"], line["error"]) for line in lines[2:]] == [
        ("b", "no JSON"),
        ("c", "not scored: nan"),
        ("d", "HTTP 500"),
    ]
