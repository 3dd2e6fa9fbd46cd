"""The scores of a copilot, and what becomes of questions that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from plugins.memory.full_history import FullHistoryMemory
from plugins.memory.none import NoMemory
from runner.domains.memory.records import MemoryContent, SessionKey
from runner.errors import EvaluationError
from runner.protocols import Workspace
from runner.system.store import Store
from tests.plugins.evaluation.small_copilot import ANSWERS, TEXTS, Grades, Says, copilot, scored


async def test_scores_of_each_question(tmp_path: Path) -> None:
    found = {name: scores for name, (scores, _) in (await scored(copilot(), tmp_path)).items()}
    assert [found[name].values["recall_at_k"] for name in found] == [1.0, 1.0, 1.0, None, None]
    assert found["seats"].values["mrr"] == 0.5  # behind what the question before it asked for
    assert found["seats"].values["exact_match"] == 1.0
    assert (found["both"].values["facts_present"], found["both"].values["answer_facts"]) == (1.0, 0.0)
    assert found["both"].labels["lost_at"] == "unused"
    assert (found["money"].values["evidence_recall"], found["money"].values["answer_facts"]) == (1.0, 1.0)
    assert found["money"].labels["lost_at"] == "none"
    assert found["money"].values["memory_overall"] == 75.0 and "memory_overall" not in found["export"].values
    assert found["never"].values["unanswerable_f1"] == 1.0
    gate = {"retrieval_gate": "true_positive"}  # nothing was found
    assert found["never"].labels == {
        "answerability": "true_positive", "right_by": "declined", "lost_at": "none", "answer": "refused", **gate
    }  # fmt: skip
    assert found["export"].labels["pattern"] == "ideal"


@pytest.mark.parametrize(
    ("text", "declined", "lost_at"),
    [
        ("The Romans did, in 1987.", False, "answered_unanswerable"),  # nothing was found: it made that up
        ("확인되지 않습니다.", True, "none"),  # its generator does not call that a refusal
    ],
)
async def test_the_answer_that_was_delivered_declines_or_does_not(
    tmp_path: Path, text: str, declined: bool, lost_at: str
) -> None:
    says = Says({**ANSWERS, "Who built the pyramids?": text})
    scores, output = (await scored(copilot(generator=says), tmp_path))["never"]
    assert output.recorded["declined"] is declined
    assert (scores.values["unanswerable_recall"], scores.labels["lost_at"]) == (float(declined), lost_at)
    assert scores.labels["retrieval_gate"] == "true_positive"


async def test_a_question_of_what_was_said_is_no_question_without_an_answer(tmp_path: Path) -> None:
    """Nothing was found for it, and the memory answers it."""
    scores, output = (await scored(copilot(), tmp_path))["money"]
    assert output.retrieved.ranking.ids == ()
    assert scores.labels["answerability"] == "true_negative"


async def test_judges_read_the_turns_before_whatever_the_memory_kept(tmp_path: Path) -> None:
    judge = Grades()
    await scored(copilot(memory=NoMemory, judge=judge), tmp_path)
    asked = {(rubric, fields["question"]): fields for rubric, fields in judge.asked}
    history = asked["answer_relevancy", "And seats?"]["history"]
    assert [(turn.role, turn.text) for turn in history] == [
        ("user", "How do I export reports?"),
        ("assistant", "Noted."),
    ]
    assert [question for rubric, question in asked if rubric == "memory"] == [
        "What is our budget, and when do budgets warn?",
        "Which amount of money was told?",
    ]
    about_money = asked["memory", "Which amount of money was told?"]
    assert about_money["reference"] == ["budget: $900"]
    assert about_money["weights"] == {"relevance": 0.35, "completeness": 0.3, "accuracy": 0.25, "noise": 0.1}


@pytest.mark.parametrize(("on_failure", "value"), [("zero", 0.0), ("exclude", None)])
async def test_a_judge_that_fails_is_told(
    tmp_path: Path, on_failure: Literal["zero", "exclude"], value: float | None
) -> None:
    found = await scored(copilot(judge=Grades(on_failure, fails=True)), tmp_path)
    scores = found["money"][0]
    assert scores.values["faithfulness"] == scores.values["memory_overall"] == value
    assert {"faithfulness", "answer_relevancy", "memory_overall"} <= set(scores.unscored)
    assert "memory_overall" not in found["export"][0].unscored


async def test_an_empty_memory_has_no_accuracy(tmp_path: Path) -> None:
    scores, _ = (await scored(copilot(memory=NoMemory), tmp_path))["money"]
    assert scores.values["memory_accuracy"] is None and scores.values["facts_present"] == 0.0
    assert scores.unscored == () and scores.labels["memory"] == "empty"
    assert scores.labels["lost_at"] == "none"  # the generator knows it by heart


def test_metrics_of_a_question_that_failed() -> None:
    tested = copilot()
    cases = {case.probe.id: case for case in tested.load().cases}
    unscored = {name: set(tested.score(case, None, {}).unscored) for name, case in cases.items()}
    assert {"recall_at_k", "faithfulness", "context_tokens"} <= unscored["export"]
    assert not any(
        name.startswith(("recall", "memory_overall", "unans")) for name in unscored["money"] - {"memory_overall"}
    )
    assert {"facts_present", "answer_facts", "memory_overall", "exact_match"} <= unscored["money"]
    assert {"unanswerable_recall", "unanswerable_f1"} <= unscored["never"]


async def test_a_memory_that_fails_for_one_question_fails_that_question(tmp_path: Path) -> None:
    class Fails(FullHistoryMemory):
        async def read(self, key: SessionKey, question: str) -> MemoryContent:
            if question == "And seats?":
                raise EvaluationError("not this time")
            return await super().read(key, question)

    tested = copilot(memory=Fails)
    cases = tested.load().cases
    async with tested.open():
        await tested.prepare(cases, Store(tmp_path, {id(tested.retrieval.retriever): "words"}))
        with pytest.raises(EvaluationError, match="not this time"):
            await tested.run(cases[1])
        assert (await tested.run(cases[0])).answer.text == "As CSV [1]."


@pytest.mark.parametrize(
    ("judge", "correctness", "right_by"),
    [
        (Grades(), 0.75, {"correctness"}),
        (Grades(fails=True), 0.0, {"not_judged"}),
        (Grades(baseline=True), None, {"facts", "reference"}),
    ],
)
async def test_a_model_holds_an_answer_against_the_right_one(
    tmp_path: Path, judge: Grades, correctness: float | None, right_by: set[str]
) -> None:
    found = {name: scores for name, (scores, _) in (await scored(copilot(judge=judge), tmp_path)).items()}
    asked = {fields["question"]: fields for rubric, fields in judge.asked if rubric == "answer_correctness"}
    if correctness is None:
        assert not asked
    else:
        assert asked["And seats?"]["references"] == ["$5"] and asked["And seats?"]["history"]
        assert set(asked) == {"And seats?", "Which amount of money was told?"}  # half of `both` is in a document
    for name in ("seats", "money"):
        assert found[name].values.get("answer_correctness") == correctness
        assert found[name].labels["right_by"] in right_by
    assert "answer_correctness" not in {**found["export"].values, **found["both"].values, **found["never"].values}


def test_documents_are_told_one_by_one_so_that_edits_can_be_counted() -> None:
    assert set(copilot().load().documents) == set(TEXTS)


async def test_a_memory_that_keeps_something_is_prepared_before_the_first_turn(tmp_path: Path) -> None:
    class Keeping(FullHistoryMemory):
        root: Path | None = None

        async def prepare(self, workspace: Workspace) -> None:
            self.root = workspace.root

        async def append(self, *turn: Any) -> None:
            assert self.root == tmp_path
            await super().append(*turn)

    assert await scored(copilot(memory=Keeping), tmp_path)
