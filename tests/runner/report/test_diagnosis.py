from pathlib import Path

import pytest

from runner.report.diagnosis import diagnose
from runner.report.document import Document
from runner.system.folder import open_run
from tests.run_folders import write_run


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
