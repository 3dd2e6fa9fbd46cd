"""What the generator of a full_rag run is given, what becomes of its answer, and when it is not asked at all."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.evaluation.full_rag import RequireSettings
from runner.errors import StopRunError
from runner.records import Answer, Context, GivenResults, Query, Ranking, Trajectory
from runner.system.store import Store
from runner.text.refusals import REFUSAL
from tests.plugins.evaluation.small_rag import Alphabetical, Judges, Says, full_rag, query, ran, row


@pytest.mark.parametrize(
    ("message", "answerable", "answered", "label", "lost_at"),
    [
        (None, True, "Beta is second. [2]", "true_negative", "none"),
        (None, False, "Beta is second. [2]", "false_negative", "answered_unanswerable"),
        ("Nothing found.", True, "Nothing found.", "false_positive", "refused_answerable"),
        ("Nothing found.", False, "Nothing found.", "true_positive", "none"),
    ],
)
def test_what_an_agent_says_takes_the_place_of_an_answer(
    tmp_path: Path, message: str | None, answerable: bool, answered: str, label: str, lost_at: str
) -> None:
    class Deciding(Alphabetical):
        def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
            told = Trajectory((), "nothing_new", "not_found" if message else None, message)
            irrelevant = (0.1, 0.1, 0.1)  # below min_score: it says nothing where an agent decides
            return [replace(found, relevance=irrelevant, trajectory=told) for found in super().search(queries, depth)]

    case = query(answerable=answerable, relevance={"b": 1} if answerable else {})
    found, generator, _ = row(tmp_path, case, retriever=Deciding())
    assert (found.output["answer"], found.output["declined"]) == (answered, message is not None)
    assert found.output["trajectory"]["stopped"] == "nothing_new"
    assert bool(generator.contexts) is (message is None)
    assert ("generation" in found.timings) is (message is None)
    assert (found.labels["answerability"], found.labels["lost_at"]) == (label, lost_at)
    assert "retrieval_gate" not in found.labels
    assert found.latency_ms is not None


@pytest.mark.parametrize(
    ("least", "text", "answer"),
    [
        (None, "which?", "Beta is second. [2]"),
        (0.9, "which?", "Beta is second. [2]"),  # the best hit has .9
        (0.91, "which?", REFUSAL["en"]),
        (0.91, "어느 것인가요?", REFUSAL["ko"]),
        (0.01, "nothing", REFUSAL["en"]),
    ],
)
def test_where_the_best_hit_is_below_refuse_below_the_generator_is_not_asked(
    tmp_path: Path, least: float | None, text: str, answer: str
) -> None:
    generator = Says(Answer("Beta is second. [2]", citations=(2,)))
    generator.refuse_below = least
    judge = Judges(faithfulness=1, answer_relevancy=1)
    found = ran(full_rag([query(text=text)], Alphabetical(), generator, judge, 2), tmp_path)
    declines = answer in REFUSAL.values()
    assert (found.output["answer"], found.output["declined"], bool(generator.contexts)) == (
        answer,
        declines,
        not declines,
    )
    assert ("generation" in found.timings) is not declines
    assert found.labels["answerability"] == ("false_positive" if declines else "true_negative")


def test_no_more_than_k_given_contexts_are_used(tmp_path: Path) -> None:
    given = GivenResults(contexts=tuple(Context(f"c{number}", "text") for number in range(5)))
    _, generator, _ = row(tmp_path, query(given=given), k=2)
    assert [context.id for context in generator.contexts] == ["c0", "c1"]


def test_a_case_that_fails_names_what_would_have_been_scored(tmp_path: Path) -> None:
    class Broken(Says):
        async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
            raise ValueError("no model")

    evaluation = full_rag([query()], Alphabetical(), Broken(Answer("")), Judges(), 2)
    found = ran(evaluation, tmp_path)
    assert (found.status, found.stage) == ("failed", "run")
    assert found.error is not None and found.error.startswith(f"ValueError: no model ({__name__}, line ")
    assert {"right", "faithfulness", "answer_relevancy"} <= set(found.unscored)


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (Answer("Beta is second. [2]", citations=(2,)), "valid"),
        (Answer("Beta is second. [2, 3, 1]", citations=(2, 3, 1)), "out_of_range"),
        (Answer("Beta is second."), "none"),
        (Answer("No answer here. [7]", refused=True, citations=(7,)), None),
    ],
)
def test_whether_an_answer_cites_what_is_there(tmp_path: Path, answer: Answer, label: str | None) -> None:
    found, _, _ = row(tmp_path, query(), k=2, answer=answer)
    assert found.labels.get("citations") == label
    out_of_range = [number for number in answer.citations if number > 2]
    assert found.output.get("citations_out_of_range", []) == out_of_range
    assert ("citations_out_of_range" in found.output) == bool(out_of_range)


def test_an_answer_that_was_cut_off_is_kept_and_says_so(tmp_path: Path) -> None:
    cut, _, _ = row(tmp_path, query(), answer=Answer("Beta is", cut_off=True))
    whole, _, _ = row(tmp_path, query())
    assert (cut.status, cut.output["answer"], cut.output["cut_off"]) == ("ok", "Beta is", True)
    assert "cut_off" not in whole.output


@pytest.mark.parametrize("live", [True, False])
def test_generation_is_timed_by_itself(tmp_path: Path, live: bool) -> None:
    judge = Judges(faithfulness=1, answer_relevancy=1)
    evaluation = full_rag([query()], Alphabetical(), Says(Answer("Beta."), live), judge, 2)
    timings = ran(evaluation, tmp_path).timings
    assert set(timings) == {"retrieval", "generation"}
    assert timings["generation"].live is live
    assert timings["generation"].ms is not None and timings["generation"].ms >= 0


# Two of three answerable questions find their gold at 2: a (rank 1), b (rank 2), c (rank 3, too late).
CASES = [
    query(id="1", relevance={"a": 1}),
    query(id="2", relevance={"b": 1}),
    query(id="3", relevance={"c": 1}),
    query(id="4", relevance={}, answerable=False),
]


def prepared(tmp_path: Path, require: RequireSettings, cases: Sequence[Query] = CASES) -> None:
    retriever = Alphabetical()
    evaluation = full_rag(cases, retriever, Says(Answer("")), Judges(), 2, require)
    store = Store(tmp_path, {id(retriever): "alphabetical"})
    asyncio.run(evaluation.prepare(evaluation.load().cases, store))


def test_retrieval_that_is_as_good_as_demanded_is_enough(tmp_path: Path) -> None:
    prepared(tmp_path, {"recall_at_k": 2 / 3, "mrr": 0.5, "precision_at_k": 1 / 3, "ndcg_at_k": None})
    prepared(tmp_path, {})


def test_retrieval_below_what_is_demanded_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(StopRunError) as raised:
        prepared(tmp_path, {"recall_at_k": 0.7, "hit_rate_at_k": 0.6, "mrr": 0.51})
    assert str(raised.value) == (
        "evaluation.require: recall_at_k is 0.6667, required: 0.7; mrr is 0.5000, required: 0.51; "
        "no model was asked to answer or to judge"
    )


def test_what_cannot_be_measured_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(StopRunError) as raised:
        prepared(tmp_path, {"recall_at_k": 0.0}, CASES[3:])
    assert str(raised.value).startswith("evaluation.require: recall_at_k applies to no case, required: 0.0; ")
