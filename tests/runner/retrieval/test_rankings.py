from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.llm.ledger import Cost
from runner.llm.messages import Usage
from runner.llm.metering import asking_for, note, note_texts
from runner.records import Assessment, Context, GivenResults, Query, Ranking, RoleCost, ToolCall, Trajectory, Turn
from runner.retrieval.rankings import RankedQuery, Reading, Readings, documents, rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, question, workspace
from tests.runner.scripted_retrievers import CORPUS, Scripted, numbered, rank

# --- what comes back ------------------------------------------------------------------------------


def test_each_query_has_its_ranking(tmp_path: Path) -> None:
    queries = [question("b#0", id="하나"), question("a#0", id="둘")]
    rankings = rank(Scripted(CORPUS), queries, tmp_path)
    assert list(rankings) == ["하나", "둘"]
    assert rankings["하나"].ranking == Ranking(("b#0", "c#0", "a#0"), (3.0, 2.0, 1.0), (1.0, 2 / 3, 1 / 3))
    assert rankings["둘"].ranking.ids == ("a#0", "c#0", "b#0")
    assert rankings["둘"].error is None
    assert len(rankings) == 2
    with pytest.raises(KeyError):
        rankings["셋"]


def test_a_second_run_reads_the_same_and_searches_nothing(tmp_path: Path) -> None:
    queries = numbered(300)
    first = rank(Scripted(CORPUS), queries, tmp_path, probe=20)
    again = Scripted(CORPUS)
    second = rank(again, queries, tmp_path, probe=20)
    assert again._asked == []
    assert (first.reused, second.reused) == (False, True)
    assert [second[id].ranking for id in second] == [first[id].ranking for id in first]
    assert second.latencies_ms == first.latencies_ms
    timed = [id for id in first if first[id].latency_ms is not None]
    assert len(timed) == 20
    assert [second[id].latency_ms for id in timed] == second.latencies_ms


class Asking(Scripted):
    """Asks a model for the batch, and another one on behalf of each query; what it asks for is deeper each time."""

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        note_texts("embedder", "m", [query.text for query in queries], lambda text: Cost(Usage(len(text)), 10))
        for query in queries:
            with asking_for(query.id):
                note("agent", f"{query.id}/{depth}".encode(), Cost(Usage(100, depth), 5))
        return super().search(queries, depth)


@pytest.mark.parametrize("probe", [0, 2])
def test_what_was_asked_for_a_query_is_kept_with_its_ranking(tmp_path: Path, probe: int) -> None:
    """However it was searched, and in the run that searches nothing."""
    queries = [question("b#0", id="하나"), question("a#0 c#0", id="둘")]
    rank(Scripted(CORPUS), queries, tmp_path)  # what the corpus remembers of itself is part of its identity here
    for _ in range(2):
        found = rank(Asking(CORPUS), queries, tmp_path, depth=3, probe=probe)
        assert {id: ranked.cost for id, ranked in found.items()} == {
            "하나": {"agent": RoleCost(1, 100, 3, 5e-9), "embedder": RoleCost(1, 3, 0, 1e-8)},
            "둘": {"agent": RoleCost(1, 100, 3, 5e-9), "embedder": RoleCost(1, 7, 0, 1e-8)},
        }
    assert found.reused


def test_what_an_agent_did_is_kept_with_its_ranking(tmp_path: Path) -> None:
    class Deciding(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            call = ToolCall(
                "search_all", {"query": query.text}, ("없다",), Assessment((), confidence=0.0), error="\ud800"
            )
            told = Trajectory((call,), "sufficient", "not_found", "찾지 못했습니다") if query.id == "하나" else None
            return replace(super()._rank(query, depth), trajectory=told)

    queries = [question("b#0", id="하나"), question("a#0", id="둘")]
    made, read = (rank(Deciding(CORPUS), queries, tmp_path, depth=1) for _ in range(2))
    assert read.reused
    told = read["하나"].ranking.trajectory
    assert told is not None
    assert (told.calls[0].arguments, told.calls[0].assessment.confidence, told.message) == (
        {"query": "b#0"},
        0.0,
        "찾지 못했습니다",
    )
    assert read["하나"] == made["하나"]
    assert read["둘"].ranking.trajectory is None
    assert rank(Scripted(CORPUS), queries, tmp_path / "other")["하나"].ranking.trajectory is None


def test_the_key_holds_what_decides_a_ranking(tmp_path: Path) -> None:
    queries = numbered(2)
    rank(Scripted(CORPUS), queries, tmp_path)
    other_corpus = corpus_of({"a": "첫째", "b": "둘째", "c": "넷째"})
    given = [Query("q0", "a#0 0", True, {}, given=GivenResults(ranking=(("a", 1.0),))), queries[1]]
    contexts = [Query("q0", "a#0 0", True, {}, given=GivenResults(contexts=(Context("a", ""),))), queries[1]]
    said = [Query("q0", "a#0 0", True, {}, history=(Turn("user", "11월은?"),)), queries[1]]
    for changed in (
        {"queries": queries[::-1]},
        {"queries": said},
        {"queries": [question("a#0 0", id="q0"), question("다른", id="q1")]},
        {"queries": given},
        {"queries": contexts},
        {"queries": queries, "depth": 101},
        {"queries": queries, "corpus": other_corpus},
    ):
        assert not rank(Scripted(CORPUS), root=tmp_path, **changed).reused, changed
    moved = Scripted(CORPUS)
    moved.provenance = {"server": "elsewhere"}  # type: ignore[attr-defined]
    assert not rank(moved, queries, tmp_path).reused
    assert rank(Scripted(CORPUS), queries, tmp_path, seed=2, probe=1, timeout_ms=9_000).reused


def test_a_cold_workspace_ranks_again(tmp_path: Path) -> None:
    retriever = Scripted(CORPUS)
    searcher = Searcher(retriever, CORPUS, depth=100, timeout_ms=10_000, seed=1)
    rank_all(searcher, numbered(1), workspace(tmp_path, retriever))
    cold = rank_all(searcher, numbered(1), workspace(tmp_path, retriever, cold=True))
    assert not cold.reused


def test_a_damaged_ranking_is_made_again(tmp_path: Path) -> None:
    first = rank(Scripted(CORPUS), numbered(3), tmp_path)
    rankings = [first[id].ranking for id in first]
    hits = next(tmp_path.rglob("0.bin"))
    data = bytearray(hits.read_bytes())
    data[-1] ^= 1
    hits.write_bytes(bytes(data))
    second = rank(Scripted(CORPUS), numbered(3), tmp_path)
    assert not second.reused
    assert [second[id].ranking for id in second] == rankings


def test_no_queries_and_no_hits(tmp_path: Path) -> None:
    nothing = corpus_of({})
    assert list(rank(Scripted(nothing), [], tmp_path)) == []
    assert list(rank(Scripted(nothing), [], tmp_path)) == []
    for _ in range(2):
        assert rank(Scripted(nothing), numbered(1), tmp_path, corpus=nothing)["q0"].ranking == Ranking((), (), ())


def test_legs_are_kept_and_ids_may_be_any_text(tmp_path: Path) -> None:
    ids = ("\ud800", "가#0", "")

    class Fused(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            legs = {"keyword": Ranking(ids[:1], (0.1,), (1.0,)), "semantic": Ranking((), (), ())}
            return Ranking(ids, (3.0, -0.0, -1e-300), (1.0, 0.25, 0.0), legs)

    first, second = (rank(Fused(CORPUS), numbered(2), tmp_path) for _ in range(2))
    assert second.reused
    assert first["q1"].ranking == second["q1"].ranking == Fused(CORPUS)._rank(numbered(1)[0], 5)


def test_scores_survive_the_disk_to_the_last_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(3).random(3).tolist()

    class Precise(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            return Ranking(("c#0", "b#0", "a#0"), tuple(values), tuple(values))

    for _ in range(2):
        assert list(rank(Precise(CORPUS), numbered(1), tmp_path)["q0"].ranking.scores) == values


# --- memory ---------------------------------------------------------------------------------------


def test_memory_grows_by_the_ids_of_queries_and_not_by_what_was_found(tmp_path: Path) -> None:
    corpus = corpus_of({f"document-{n:03}": "text" for n in range(100)})

    def peak(count: int) -> int:
        queries = numbered(count)
        tracemalloc.start()
        try:
            rankings = rank(Scripted(corpus), queries, tmp_path, corpus=corpus, probe=count)  # one at a time
            assert sum(len(rankings[query.id].ranking.ids) for query in queries) == 100 * count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is made once, whatever the number of queries
    assert (peak(300) - peak(50)) / 250 < 500  # 100 hits are 2,000 bytes on disk


# --- what cells share -----------------------------------------------------------------------------


def test_what_rankings_come_to_is_kept_as_long_as_there_is_room() -> None:
    ranking = Ranking(("a#0", "b#0"), (2.0, 1.0), (1.0, 0.5))
    reading = Reading(RankedQuery(ranking, None, None), documents(ranking, CORPUS), None)
    readings = Readings(room=9)  # hits of rankings and of documents
    for id in "abc":
        readings.keep(id, reading)
    assert [readings.get(id) is reading for id in "abc"] == [True, True, False]
