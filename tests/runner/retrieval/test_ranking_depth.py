"""The depth of a search is counted in documents, each of which stands where its best chunk does."""

from __future__ import annotations

from pathlib import Path

from runner.records import DataSet, Query, Ranking
from runner.retrieval.rankings import documents
from tests.corpora import corpus_of, question, workspace
from tests.plugins.evaluation.small_retrieval import retrieval
from tests.runner.scripted_retrievers import Scripted, rank

# --- depth is in documents ------------------------------------------------------------------------


def test_searches_deeper_until_there_are_enough_documents(tmp_path: Path) -> None:
    crowded = corpus_of({"z": ["x"] * 40, "b": "x", "a": "x"})  # z#… come first
    retriever = Scripted(crowded)
    ranked = rank(retriever, [question("nothing")], tmp_path, corpus=crowded, depth=2, warmup=0)
    assert retriever._depths == [8, 16, 32, 64]
    ranking = ranked["q"].ranking
    assert documents(ranking, crowded).ids == ("z", "b")
    assert ranking.ids == ("z#9", "z#8", "b#0")  # no more of z than the depth
    assert ranking.scores == (42.0, 41.0, 2.0)
    assert len(ranked.latencies_ms) == 1


def test_does_not_search_deeper_than_there_is_something(tmp_path: Path) -> None:
    crowded = corpus_of({"z": ["x"] * 40, "b": "x"})
    retriever = Scripted(crowded)
    rank(retriever, [question("nothing")], tmp_path, corpus=crowded, depth=5, warmup=0)
    assert retriever._depths == [20, 40, 80]

    class FewHits(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            return Ranking(("z#1", "z#0"), (2.0, 1.0), (1.0, 0.5))

    few = FewHits(crowded)
    rank(few, [question("nothing")], tmp_path / "few", corpus=crowded, depth=5, warmup=0)
    assert few._depths == [20]


def test_legs_too_are_searched_to_the_depth(tmp_path: Path) -> None:
    crowded = corpus_of({"z": ["x"] * 40, "b": "x", "a": "x"})

    class Fused(Scripted):
        def _rank(self, query: Query, depth: int) -> Ranking:
            return Ranking(("a#0",), (1.0,), (1.0,), {"keyword": super()._rank(query, depth)})

    ranked = rank(Fused(crowded), [question("nothing")], tmp_path, corpus=crowded, depth=2)["q"].ranking
    assert documents(ranked.legs["keyword"], crowded).ids == ("z", "b")


async def test_a_ranking_has_a_hundred_documents_whatever_k_is(tmp_path: Path) -> None:
    """So that all k of a sweep share it, and deep cutoffs can be told later."""
    wide = corpus_of({f"{number:03}": "x" for number in range(120)})

    class Data:
        def load(self) -> DataSet:
            return DataSet(wide, (question("nothing"),))

    for k, cutoffs, depth in ((2, [1], 100), (2, [1, 110], 110), (105, [1], 105)):
        stage = retrieval(Data(), Scripted(wide), k=k, cutoffs=cutoffs)
        cases = stage.load().cases
        preparation = await stage.prepare(cases, workspace(tmp_path, stage.retriever))
        assert preparation.facts["ranking_depth"] == depth
        assert stage.rankings is not None
        assert len(stage.rankings["q"].ranking.ids) == depth


# --- documents ------------------------------------------------------------------------------------


def test_documents_stand_where_their_best_chunk_does() -> None:
    corpus = corpus_of({"a": ["x", "y"], "b": "z"})
    ranking = Ranking(("a#1", "b#0", "a#0", "elsewhere"), (5.0, 4.0, 3.0, 2.0), (0.9, 0.8, 1.0, 0.1))
    found = documents(ranking, corpus)
    assert found.ids == ("a", "b", "elsewhere")
    assert found.chunks == ("a#1", "b#0", "elsewhere")
    assert found.scores == (5.0, 4.0, 2.0)
    assert found.relevance == (0.9, 0.8, 0.1)


def test_equal_documents_are_ordered_by_their_own_ids() -> None:
    corpus = corpus_of({"a": "x", "a!": "x"})  # as chunks: "a#0" > "a!#0"; as documents: "a!" > "a"
    found = documents(Ranking(("a#0", "a!#0"), (1.0, 1.0), (1.0, 1.0)), corpus)
    assert found.ids == ("a!", "a")


def test_a_document_beside_its_chunk_counts_once() -> None:
    found = documents(Ranking(("a", "a#0"), (2.0, 1.0), (1.0, 1.0)), corpus_of({"a": "x"}))
    assert found.ids == ("a",)
    assert found.chunks == ("a",)
