"""Which of its own metrics an evaluation reports."""

from pathlib import Path

from plugins.evaluation.full_rag import FullRag
from plugins.evaluation.retrieval_only import RetrievalOnly
from plugins.metric.offered import Offered
from runner.records import Answer
from tests.plugins.evaluation.small_rag import Alphabetical, Data, Judges, Says, query, ran
from tests.plugins.evaluation.small_retrieval import retrieval

CASE = query(answers=("Beta",))


def rag(*names: str, judge: Judges, rubrics: list[str] | None = None) -> FullRag:
    return FullRag(
        retrieval=retrieval(Data(CASE), Alphabetical(), cutoffs=[1, 3]),
        generator=Says(Answer("Beta is second. [2]", citations=(2,))),
        judge=judge,
        high=0.6,
        rubrics=rubrics,  # type: ignore[arg-type]
        metrics={name: Offered(names=[name]) for name in names},
    )


def test_only_what_was_chosen_is_reported_and_asked(tmp_path: Path) -> None:
    row = ran(rag("right", "faithfulness", judge=Judges(faithfulness=0.9)), tmp_path)
    assert (row.metrics["right"], row.metrics["faithfulness"]) == (1.0, 0.9)
    assert set(row.judgements) == {"faithfulness"}
    others = ("recall", "precision", "mrr", "ndcg", "map", "hit_rate", "token_f1", "exact_match")
    assert [name for name in row.metrics if name.startswith(others)] == []
    assert row.labels["lost_at"] == "none"  # what is not reported still explains what is


def test_a_family_is_chosen_with_all_its_cutoffs(tmp_path: Path) -> None:
    row = ran(rag("recall", judge=Judges()), tmp_path)
    assert [row.metrics[f"recall_at_{k}"] for k in ("k", 1, 3)] == [1.0, 0.0, 1.0]
    assert row.judgements == {} and {"right", "precision_at_k", "mrr"}.isdisjoint(row.metrics)


def test_rubrics_that_are_named_are_asked_and_reported_beside(tmp_path: Path) -> None:
    row = ran(rag("right", judge=Judges(answer_relevancy=0.7), rubrics=["answer_relevancy"]), tmp_path)
    assert row.metrics["answer_relevancy"] == 0.7 and set(row.judgements) == {"answer_relevancy"}


def test_what_the_evaluation_does_not_measure_is_a_problem() -> None:
    evaluation = RetrievalOnly(
        retrieval=retrieval(Data(CASE), Alphabetical()), metrics={"faithfulness": Offered(names=["faithfulness"])}
    )
    assert [str(problem) for problem in evaluation.preflight()] == [
        "metric.faithfulness: the evaluation measures no 'faithfulness'; known: hit_rate, map, mrr, ndcg, precision, "
        "recall"
    ]
