from pathlib import Path

import pytest

from runner.report.diagnosis import cross, diagnose, pattern
from runner.report.document import Document
from runner.system.folder import open_run
from tests.run_documents import as_html, as_lines, as_markdown
from tests.run_folders import SUMMARY, estimate, row, write_run

HIGH = {"mean_faithfulness": estimate(0.9, 25), "mean_answer_relevancy": estimate(0.9, 25)}
FINE = {"n": 10, "n_failed": 0, "false_accept": {"n": 5, "k": 0}, "false_reject": {"n": 5, "k": 0}}
GULLIBLE = {**FINE, "false_accept": {"n": 10, "k": 8}}


def document_of(
    folder: Path,
    lost_at: dict[str, int],
    *,
    health: dict[str, object] | None = None,
    right_by: dict[str, int] | None = None,
    broken: int = 0,
    language: str = "en",
) -> Document:
    """A run with high means, questions lost at stages, and `broken` cases that did not end."""
    ok = sum(lost_at.values())
    summary = {
        "cases": {"total": ok + broken, "ok": ok, "failed": broken, "timeout": 0},
        "metrics": HIGH,
        "counts": {
            "lost_at": {**dict.fromkeys(SUMMARY["counts"]["lost_at"], 0), **lost_at},
            "right_by": right_by or {},
        },
        "facts": {"judge_health": health or {}},
    }
    places = [place for place, count in lost_at.items() for _ in range(count)]
    rows = [row(f"q{number}", labels={"lost_at": place}) for number, place in enumerate(places)]
    config = {"report": {"language": language}}
    return Document.of(open_run(write_run(folder, {"config": config}, summary, rows=rows)))


def summary(faithfulness: float | None, relevancy: float | None, recall: float | None = None) -> dict[str, object]:
    values = {"mean_faithfulness": faithfulness, "mean_answer_relevancy": relevancy, "recall_at_k": recall}
    return {"metrics": {name: {"value": value} for name, value in values.items()}}


@pytest.mark.parametrize(
    ("faithfulness", "relevancy", "pattern"),
    [
        (0.61, 0.61, "ideal"),
        (0.6, 0.61, "hallucination_risk"),
        (0.61, 0.6, "context_mismatch"),
        (0.6, 0.6, "overall_problem"),
        (sum([0.1] * 6) + 1e-16, 0.9, "hallucination_risk"),  # rounding noise above 0.6 is not high
    ],
)
def test_patterns_at_the_border(faithfulness: float, relevancy: float, pattern: str) -> None:
    found = diagnose(summary(faithfulness, relevancy), 0.6)
    assert found is not None
    assert found.pattern == pattern


@pytest.mark.parametrize(
    ("recall", "faithfulness", "cross"),
    [
        (0.9, 0.9, "retrieval_high_generation_high"),
        (0.9, 0.1, "retrieval_high_generation_low"),
        (0.6, 0.9, "retrieval_low_generation_high"),
        (0.1, 0.1, "retrieval_low_generation_low"),
        (None, 0.9, None),
    ],
)
def test_cross(recall: float | None, faithfulness: float, cross: str | None) -> None:
    found = diagnose(summary(faithfulness, 0.9, recall), 0.6)
    assert found is not None
    assert found.cross == cross


@pytest.mark.parametrize(("faithfulness", "relevancy"), [(None, 0.9), (0.9, None), (None, None)])
def test_no_diagnosis_without_both_scores(faithfulness: float | None, relevancy: float | None) -> None:
    assert diagnose(summary(faithfulness, relevancy), 0.6) is None


def test_what_counts_as_high_is_configured(tmp_path: Path) -> None:
    configured = write_run(tmp_path / "a", {"config": {"report": {"high": 0.75}}})
    assert Document.of(open_run(configured)).high == 0.75
    assert Document.of(open_run(write_run(tmp_path / "b"))).high == 0.6


def test_high_means_are_not_ideal_beside_failing_questions(tmp_path: Path) -> None:
    document = document_of(tmp_path, {"none": 4, "wrong_answer": 15, "below_k": 6})
    text = as_markdown([pattern(document), cross(document)])
    assert "Ideal**" not in text
    assert "Keep the current settings" not in text
    assert "this run" not in text
    assert "**Largest stage of failure: answer wrong, 15 of 25 questions (60.0%).**" in text
    assert "Questions: q4, q5, q6, q7, q8, q9, q10, q11, q12, q13 and 5 more (lost_at in per_item.jsonl)." in text
    assert "change the prompt or the model" in text
    assert "The means of the judge are high, yet 84.0% of the questions fail" in text
    assert 'class="own"' not in as_html([pattern(document)])


@pytest.mark.parametrize(("failing", "broken", "is_ideal"), [(2, 0, True), (3, 0, False), (2, 1, False), (0, 3, False)])
def test_a_tenth_of_the_questions_may_fail_in_an_ideal_run(
    tmp_path: Path, failing: int, broken: int, is_ideal: bool
) -> None:
    document = document_of(tmp_path, {"none": 20 - failing - broken, "below_k": failing}, broken=broken)
    text = as_markdown([pattern(document)])
    assert ("**Ideal**" in text) == is_ideal
    assert ("Questions: " in text) == bool(failing)


def test_no_pattern_is_told_from_a_judge_that_fails_its_control_items(tmp_path: Path) -> None:
    document = document_of(
        tmp_path,
        {"none": 4, "wrong_answer": 21},
        health={"faithfulness": GULLIBLE, "answer_relevancy": FINE, "answer_correctness": FINE},
        right_by={"correctness": 25},
    )
    text = as_markdown([pattern(document), cross(document)])
    assert "the judge fails its control items in Faithfulness." in text
    assert "Ideal" not in text
    assert "The system works as it should" not in text
    assert "answer wrong, 21 of 25" in text  # decided by answers that are known


@pytest.mark.parametrize(
    ("rubric", "right_by"),
    [("answer_correctness", {"correctness": 25}), ("answer_relevancy", {"stand_in": 5, "reference": 20})],
)
def test_no_stage_is_named_where_a_judge_that_fails_its_control_items_decided(
    tmp_path: Path, rubric: str, right_by: dict[str, int]
) -> None:
    document = document_of(
        tmp_path, {"none": 4, "wrong_answer": 21}, health={rubric: GULLIBLE}, right_by=right_by, language="ko"
    )
    text = as_markdown([pattern(document)])
    assert "가장 많이 실패한 단계는 알 수 없습니다" in text
    assert "21개" not in text


def test_a_judge_that_obeys_hidden_instructions_is_trusted_with_plain_texts(tmp_path: Path) -> None:
    moved = {**FINE, "injection": {"n": 4, "k": 1}}
    document = document_of(tmp_path, {"none": 25}, health={"faithfulness": moved})
    assert "**Ideal**" in as_markdown([pattern(document)])


@pytest.mark.parametrize(
    ("kind", "stage", "means"),
    [("retrieval_only", "below_k", "rerank, or raise k"), ("memory", "forgotten", "try a larger window")],
)
def test_runs_without_judged_answers_are_diagnosed_from_their_failures_and_the_terminal_says_so(
    tmp_path: Path, kind: str, stage: str, means: str
) -> None:
    counts = {"counts": {"lost_at": {**dict.fromkeys(SUMMARY["counts"]["lost_at"], 0), "none": 1, stage: 2}}}
    rows = [row(f"q{number}", labels={"lost_at": stage if number else "none"}) for number in range(3)]
    run = {"evaluation_type": kind, "choices": {"evaluation": kind}}
    found = pattern(Document.of(open_run(write_run(tmp_path, run, {**counts, "metrics": {}}, rows=rows))))
    assert found is not None
    shown = " ".join(" ".join(as_lines([found])).split())
    assert "2 of 3 questions (66.7%)." in shown and "Questions: q1, q2." in shown and means in shown
