import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from plugins.evaluation.retrieval_only import RetrievalOnly
from runner.records import Chunk, Corpus, DataSet, Document, Query, Ranking, Row, Span, Trajectory
from runner.run.engine import run_case
from runner.system.shared import sharing
from runner.system.store import Store
from tests.corpora import corpus_of, question
from tests.plugins.evaluation.small_retrieval import retrieval

TEXT = "# One\n\nfirst part\n\n# Two\n\nsecond part"
CORPUS = Corpus(
    documents=[Document("long", TEXT), Document("short", "short text")],
    chunks=[
        Chunk("long#0", "long", TEXT[:19], 0, 19),
        Chunk("long#1", "long", TEXT[19:], 19, len(TEXT)),
        Chunk("short#0", "short", "short text", 0, 10),
    ],
    fingerprint="f",
)


TOLD = {"answers": None, "gives up": "Nothing found."}  # by an agent, whatever the relevance of its hit


class Data:
    def __init__(self, queries: Sequence[Query]) -> None:
        self.queries = tuple(queries)

    def load(self) -> DataSet:
        return DataSet(CORPUS, self.queries)


@dataclass(frozen=True)
class Given:
    data: DataSet

    def load(self) -> DataSet:
        return self.data


class Fixed:
    """long#1, short#0, long#0, with the same as a leg named `only`; the query `slow` sleeps, `bad` breaks."""

    def index(self, corpus: Corpus, workspace: Any) -> Mapping[str, Any]:
        return {}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        for query in queries:
            if query.text == "slow":
                time.sleep(0.5)
            if query.text == "bad":
                raise ValueError("bad query")
        if queries[0].text in TOLD:
            told = Trajectory((), "nothing_new", message=TOLD[queries[0].text])
            return [Ranking(("long#1",), (3.0,), (0.2,), trajectory=told)] * len(queries)
        if queries[0].text == "sure":
            return [Ranking(("long#1",), (3.0,), (0.9,))] * len(queries)
        leg = Ranking(("short#0",), (1.0,), (0.5,))
        return [Ranking(("long#1", "short#0", "long#0"), (3.0, 2.0, 1.0), (0.2, 0.1, 0.0), {"only": leg})] * len(
            queries
        )


def rows(tmp_path: Path, *queries: Query, timeout_ms: int = 5000) -> dict[str, Row]:
    retriever = Fixed()
    evaluation = RetrievalOnly(retrieval=retrieval(Data(queries), retriever, cutoffs=[1, 10], timeout_ms=timeout_ms))

    async def run() -> dict[str, Row]:
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(tmp_path, {id(retriever): "fixed"}))
        return {case.id: await run_case(evaluation, case, 5) for case in cases}

    return asyncio.run(run())


def query(id: str = "q", text: str = "x", **fields: Any) -> Query:
    return Query(**{"id": id, "text": text, "answerable": True, "relevance": {"long": 1}, **fields})


def test_documents_rank_by_their_best_chunk_and_count_once(tmp_path: Path) -> None:
    found = rows(tmp_path, query())["q"]
    assert [hit["id"] for hit in found.output["retrieved"]] == ["long", "short"]
    assert found.output["retrieved"][0]["chunk"] == "long#1"
    assert (found.metrics["mrr"], found.metrics["precision_at_k"], found.metrics["recall_at_k"]) == (1, 0.5, 1)


def test_metrics_of_k_and_of_fixed_cutoffs_have_their_own_names(tmp_path: Path) -> None:
    names = {name for name in rows(tmp_path, query())["q"].metrics if "/" not in name}
    measures = ("precision", "recall", "hit_rate", "ndcg", "map")
    expected = {f"{measure}_at_{cutoff}" for measure in measures for cutoff in ("k", 1, 10)}
    expected |= {"mrr", "mrr_at_1", "mrr_at_10", "unanswerable_precision", "unanswerable_recall", "unanswerable_f1"}
    assert names == expected | {"faithfulness", "answer_relevancy"}


class Ordered:
    """Documents in the order of the corpus."""

    def index(self, corpus: Corpus, workspace: Any) -> Mapping[str, Any]:
        self.ids = tuple(chunk.id for chunk in corpus.chunks)
        return {}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        scores = tuple(float(-place) for place in range(depth))
        return [Ranking(self.ids[:depth], scores, scores)] * len(queries)


@pytest.mark.parametrize(("cutoffs", "deepest"), [([1, 10], 100), ([1, 120], 120)])
def test_where_a_document_stands_is_known_down_to_100_and_to_every_cutoff(
    cutoffs: list[int], deepest: int, tmp_path: Path
) -> None:
    corpus = corpus_of({f"d{number}": "x" for number in range(1, 131)})
    asked = [question("x", f"rank {rank}", [f"d{rank}"]) for rank in (deepest, deepest + 1)]
    data, retriever = DataSet(corpus, tuple(asked)), Ordered()
    evaluation = RetrievalOnly(retrieval=retrieval(Given(data), retriever, cutoffs=cutoffs))

    async def run() -> dict[str, str]:
        cases = evaluation.load().cases
        await evaluation.prepare(cases, Store(tmp_path, {id(retriever): "ordered"}))
        return {case.id: (await run_case(evaluation, case, 5)).labels["lost_at"] for case in cases}

    assert asyncio.run(run()) == {f"rank {deepest}": "below_k", f"rank {deepest + 1}": "not_retrieved"}


def test_legs_stand_beside_the_fusion(tmp_path: Path) -> None:
    metrics = rows(tmp_path, query())["q"].metrics
    assert (metrics["only/recall_at_k"], metrics["only/mrr"]) == (0, 0)


def test_chunk_labels_give_chunk_metrics(tmp_path: Path) -> None:
    found = rows(
        tmp_path,
        query("by id", expected_chunks=("long#0",)),
        query("by range", expected_spans=(Span("long", 26, 37),)),
        query("by text", expected_spans=(Span("long", text="first part"),)),
        query("none"),
    )
    assert found["by id"].metrics["chunk/recall_at_k"] == 0
    assert found["by id"].metrics["chunk/recall_at_10"] == 1
    assert found["by range"].metrics["chunk/mrr"] == 1
    assert found["by text"].metrics["chunk/mrr_at_10"] == 1 / 3
    assert not any(name.startswith("chunk/") for name in found["none"].metrics)


def test_where_gold_chunks_stand_that_are_labelled_by_id(tmp_path: Path) -> None:
    """With their ranks, and nothing else of a ranking: enough to find them again in a corpus cut otherwise."""
    both = query("both", expected_chunks=("long#0", "long#7", "gone#0"), expected_spans=(Span("long", 26, 37),))
    found = rows(tmp_path, both, query("by range", expected_spans=(Span("long", 26, 37),)))
    assert found["both"].output["chunk_gold"] == {
        "labels": {"long#0": ["long", 0, 19], "long#7": None, "gone#0": None},
        "spans": ["long#1"],
        "chunks": {"long#0": ["long", 0, 19, 3], "long#1": ["long", 19, 37, 1]},
    }
    assert "chunk_gold" not in found["by range"].output


def test_a_best_hit_below_min_score_counts_as_no_answer(tmp_path: Path) -> None:
    found = rows(tmp_path, query(answerable=False, relevance={}))["q"]
    assert found.labels == {"answerability": "true_positive", "lost_at": "none"}


def test_an_unanswerable_question_with_a_relevant_hit_is_lost(tmp_path: Path) -> None:
    found = rows(tmp_path, query("a", "sure", answerable=False, relevance={}))["a"]
    assert found.labels == {"answerability": "false_negative", "lost_at": "answered_unanswerable"}


def test_a_slow_and_a_broken_query_cost_only_themselves(tmp_path: Path) -> None:
    found = rows(tmp_path, query("a"), query("b", "slow"), query("c", "bad"), query("d"), timeout_ms=100)
    assert [found[id].status for id in "abcd"] == ["ok", "timeout", "failed", "ok"]
    assert found["b"].error == "the query was not answered within timeout_ms"
    assert found["c"].error is not None and "bad query" in found["c"].error
    assert {"recall_at_k", "only/recall_at_k"} <= set(found["b"].unscored)


def test_an_agent_says_whether_there_is_an_answer(tmp_path: Path) -> None:
    unanswerable = {"answerable": False, "relevance": {}}
    found = {
        (text, answerable): rows(tmp_path / f"{text} {answerable}", query(text=text, **kind))["q"]
        for text in TOLD
        for answerable, kind in ((True, {}), (False, unanswerable))
    }
    labels = {key: (row.labels["answerability"], row.labels["lost_at"]) for key, row in found.items()}
    assert labels == {
        ("answers", True): ("true_negative", "none"),
        ("answers", False): ("false_negative", "answered_unanswerable"),
        ("gives up", True): ("false_positive", "refused_answerable"),
        ("gives up", False): ("true_positive", "none"),
    }
    assert found["answers", True].output["trajectory"] == {"calls": [], "stopped": "nothing_new"}
    assert found["gives up", True].output["trajectory"]["message"] == "Nothing found."


def test_cells_share_what_rankings_come_to_only_where_the_labels_are_the_same(tmp_path: Path) -> None:
    """The retriever sees the same, so that the rankings are the same files; what they are worth is not."""
    other = {"relevance": {"short": 1}}
    alone = [rows(tmp_path, query(**labels))["q"] for labels in ({}, other)]
    with sharing():
        shared = [rows(tmp_path, query(**labels))["q"] for labels in ({}, other, {})]
    assert [row.metrics for row in shared] == [row.metrics for row in (*alone, alone[0])]
    assert [row.output for row in shared] == [row.output for row in (*alone, alone[0])]
    assert alone[0].metrics != alone[1].metrics
