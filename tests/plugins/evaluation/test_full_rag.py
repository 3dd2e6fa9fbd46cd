import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from plugins.evaluation.full_rag import FullRag, RequireSettings
from runner.engine import run_case
from runner.errors import StopRunError
from runner.records import Answer, Chunk, Context, Corpus, DataSet, Document, Given, Judgement, Query, Ranking, Row
from runner.retrieval import Retrieval
from runner.stopwatch import note
from runner.store import Store
from runner.trajectory import Trajectory

TEXTS = {"a": "Alpha is first.", "b": "Beta is second.", "c": "Gamma is third."}
CORPUS = Corpus(
    documents=[Document(id, text, title=id.upper()) for id, text in TEXTS.items()],
    chunks=[Chunk(f"{id}#0", id, text, 0, len(text)) for id, text in TEXTS.items()],
    fingerprint="f",
)


class Data:
    def __init__(self, *queries: Query) -> None:
        self.queries = queries

    def load(self) -> DataSet:
        return DataSet(CORPUS, self.queries)


class Alphabetical:
    """a (relevance .9), b (.6), c (.3) for every query; nothing for the query `nothing`; no index."""

    def index(self, corpus: Corpus, workspace: Any) -> Mapping[str, Any]:
        return {"kind": "alphabetical"}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        found = Ranking(("a#0", "b#0", "c#0"), (3.0, 2.0, 1.0), (0.9, 0.6, 0.3))
        return [Ranking((), (), ()) if query.text == "nothing" else found for query in queries]


class Says:
    def __init__(self, answer: Answer, live: bool = True) -> None:
        self.answer, self.live = answer, live
        self.contexts: Sequence[Context] = ()

    async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
        self.contexts = contexts
        note(live=self.live)
        return self.answer


class Judges:
    def __init__(self, on_failure: Literal["zero", "exclude"] = "zero", **scores: float | None) -> None:
        self.on_failure: Literal["zero", "exclude"] = on_failure
        self.scores = scores
        self.fields: dict[str, Mapping[str, Any]] = {}

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        self.fields[rubric] = fields
        score = self.scores[rubric]
        return Judgement(score, "because", error="no JSON" if score is None else None)


def query(**fields: Any) -> Query:
    return Query(**{"id": "q", "text": "which?", "answerable": True, "relevance": {"b": 1}, **fields})


def full_rag(
    cases: Sequence[Query],
    retriever: Alphabetical,
    generator: Says,
    judge: Judges,
    k: int,
    require: RequireSettings | None = None,
    min_score: float = 0.3,
) -> FullRag:
    retrieval = Retrieval(
        dataset=Data(*cases),
        retriever=retriever,
        k=k,
        cutoffs=[1, 3],
        min_score=min_score,
        timeout_ms=1000,
        warmup=0,
        seed=1,
    )
    return FullRag(retrieval=retrieval, generator=generator, judge=judge, high=0.6, require=require)


def row(
    tmp_path: Path,
    case: Query,
    *,
    k: int = 2,
    answer: Answer | None = None,
    judge: Judges | None = None,
    retriever: Alphabetical | None = None,
    min_score: float = 0.3,
) -> tuple[Row, Says, Judges]:
    generator = Says(answer or Answer("Beta is second. [2]", citations=(2,)))
    judge = judge or Judges(faithfulness=0.9, answer_relevancy=0.8)
    retriever = retriever or Alphabetical()
    evaluation = full_rag([case], retriever, generator, judge, k, min_score=min_score)

    async def run() -> Row:
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(tmp_path, {id(retriever): "alphabetical"}))
        return await run_case(evaluation, cases[0], 5)

    return asyncio.run(run()), generator, judge


def test_a_right_answer(tmp_path: Path) -> None:
    found, generator, judge = row(tmp_path, query(answers=("Beta is second. [2]",)))
    metrics = found.metrics
    assert (metrics["recall_at_k"], metrics["precision_at_k"], metrics["mrr"], metrics["mrr_at_1"]) == (1, 0.5, 0.5, 0)
    assert (metrics["faithfulness"], metrics["answer_relevancy"]) == (0.9, 0.8)
    assert (metrics["exact_match"], metrics["token_f1"]) == (1, 1)
    assert found.labels == {
        "answerability": "true_negative",
        "lost_at": "none",
        "pattern": "ideal",
        "cross": "retrieval_high_generation_high",
        "citations": "valid",
    }
    assert [context.id for context in generator.contexts] == ["a#0", "b#0"]
    assert set(judge.fields["answer_relevancy"]) == {"question", "answer", "language"}
    assert [context.text for context in judge.fields["faithfulness"]["contexts"]] == [TEXTS["a"], TEXTS["b"]]
    assert found.output["retrieved"][1] == {"id": "b", "chunk": "b#0", "title": "B", "score": 2.0, "relevance": 0.6}


@pytest.mark.parametrize(("on_failure", "value"), [("zero", 0.0), ("exclude", None)])
def test_a_failed_judgement_counts_as_told_and_is_always_reported(
    tmp_path: Path, on_failure: Literal["zero", "exclude"], value: float | None
) -> None:
    judge = Judges(on_failure, faithfulness=None, answer_relevancy=1.0)
    found, _, _ = row(tmp_path, query(), judge=judge)
    assert found.metrics["faithfulness"] == value
    assert found.unscored == ("faithfulness",)
    assert found.judgements["faithfulness"].error == "no JSON"
    assert "pattern" not in found.labels  # what a judge did not say tells nothing about the answer
    assert found.labels["lost_at"] == "none"


@pytest.mark.parametrize(
    ("case", "k", "answer", "lost_at"),
    [
        (query(relevance={"c": 1}), 2, None, "below_k"),
        (query(text="nothing"), 2, None, "not_retrieved"),
        (query(relevance={"elsewhere": 1}), 2, None, "not_in_corpus"),
        (query(), 2, Answer("No answer here.", refused=True), "refused_answerable"),
        (query(answers=("Delta",)), 2, None, "wrong_answer"),
        (query(answerable=False, relevance={}), 2, None, "answered_unanswerable"),
        (query(answerable=False, relevance={}, text="nothing"), 2, None, "none"),
        (query(answerable=False, relevance={}), 2, Answer("No answer here.", refused=True), "none"),
    ],
)
def test_where_a_question_is_lost(tmp_path: Path, case: Query, k: int, answer: Answer | None, lost_at: str) -> None:
    assert row(tmp_path, case, k=k, answer=answer)[0].labels["lost_at"] == lost_at


@pytest.mark.parametrize("min_score", [0.0, 1.0])
def test_min_score_keeps_answers_from_questions_without_one_and_refuses_for_nobody(
    tmp_path: Path, min_score: float
) -> None:
    refused = row(tmp_path, query(), answer=Answer("No answer here.", refused=True), min_score=min_score)[0]
    assert refused.labels["lost_at"] == "refused_answerable"
    assert row(tmp_path, query(answers=("Beta",)), min_score=min_score)[0].labels["lost_at"] == "none"
    made_up = row(tmp_path, query(answerable=False, relevance={}), min_score=min_score)[0]
    assert made_up.labels["lost_at"] == ("none" if min_score else "answered_unanswerable")


def test_what_counts_for_an_answer_is_what_its_generator_saw(tmp_path: Path) -> None:
    given = Given(contexts=(Context("a", "Alpha is first."), Context("c", "Gamma is third.")))
    found, _, _ = row(tmp_path, query(given=given, answers=("Delta",)))
    assert (found.metrics["recall_at_k"], found.labels["lost_at"]) == (1, "below_k")
    texts = Given(contexts=(Context("context-1", "Beta is second."),))  # nobody knows of which documents they are
    found, _, _ = row(tmp_path, query(given=texts, answers=("Delta",)))
    assert found.labels["lost_at"] not in ("none", "below_k")


def test_a_right_refusal_is_no_failure_of_generation(tmp_path: Path) -> None:
    judge = Judges(faithfulness=0.5, answer_relevancy=0.0)
    case = query(answerable=False, relevance={})
    found, _, _ = row(tmp_path, case, answer=Answer("None.", refused=True), judge=judge)
    assert set(found.labels) == {"answerability", "lost_at"}


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
            irrelevant = (0.1, 0.1, 0.1)  # below min_score: not the relevance decides but the agent
            return [replace(found, relevance=irrelevant, trajectory=told) for found in super().search(queries, depth)]

    case = query(answerable=answerable, relevance={"b": 1} if answerable else {})
    found, generator, _ = row(tmp_path, case, retriever=Deciding())
    assert (found.output["answer"], found.output["refused"]) == (answered, message is not None)
    assert found.output["trajectory"]["stopped"] == "nothing_new"
    assert bool(generator.contexts) is (message is None)
    assert ("generation" in found.timings) is (message is None)
    assert (found.labels["answerability"], found.labels["lost_at"]) == (label, lost_at)
    assert found.latency_ms is not None


def test_no_more_than_k_given_contexts_are_used(tmp_path: Path) -> None:
    given = Given(contexts=tuple(Context(f"c{number}", "text") for number in range(5)))
    _, generator, _ = row(tmp_path, query(given=given), k=2)
    assert [context.id for context in generator.contexts] == ["c0", "c1"]


def test_unanswerable_questions_leave_the_ranking_metrics(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(answerable=False, relevance={}), answer=Answer("None.", refused=True))
    assert found.metrics["recall_at_k"] is None and found.unscored == ()
    assert found.metrics["unanswerable_precision"] == found.metrics["unanswerable_recall"] == 1
    assert found.weights == {"unanswerable_f1": 2.0}


def test_a_query_that_finds_nothing_scores_zero_and_counts_as_no_answer(tmp_path: Path) -> None:
    found, _, _ = row(tmp_path, query(text="nothing"))
    assert (found.metrics["recall_at_k"], found.metrics["mrr"]) == (0, 0)
    assert found.labels["answerability"] == "false_positive"


def test_a_case_that_fails_names_what_would_have_been_scored(tmp_path: Path) -> None:
    class Broken(Says):
        async def generate(self, query: Query, contexts: Sequence[Context]) -> Answer:
            raise ValueError("no model")

    generator = Broken(Answer(""))
    retriever = Alphabetical()
    evaluation = full_rag([query()], retriever, generator, Judges(), 2)

    async def run() -> Row:
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(tmp_path, {id(retriever): "alphabetical"}))
        return await run_case(evaluation, cases[0], 5)

    found = asyncio.run(run())
    assert (found.status, found.stage, found.error) == ("failed", "run", "ValueError: no model")
    assert {"recall_at_k", "mrr", "faithfulness", "answer_relevancy"} <= set(found.unscored)


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
    generator, retriever = Says(Answer("Beta."), live), Alphabetical()
    evaluation = full_rag([query()], retriever, generator, Judges(faithfulness=1, answer_relevancy=1), 2)

    async def run() -> Row:
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(tmp_path, {id(retriever): "alphabetical"}))
        return await run_case(evaluation, cases[0], 5)

    timings = asyncio.run(run()).timings
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
        "evaluation.require: recall_at_k is 0.6667, demanded is 0.7; mrr is 0.5000, demanded is 0.51; "
        "no model was asked to answer or to judge"
    )


def test_what_cannot_be_measured_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(StopRunError) as raised:
        prepared(tmp_path, {"recall_at_k": 0.0}, CASES[3:])
    assert str(raised.value).startswith("evaluation.require: recall_at_k applies to no case, demanded is 0.0; ")
