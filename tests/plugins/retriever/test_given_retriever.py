from __future__ import annotations

from pathlib import Path

import pytest

from plugins.retriever.given import GivenRetriever
from runner.errors import EvaluationError
from runner.records import Context, GivenResults, Query, Ranking
from runner.retrieval.rankings import documents, rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, workspace


def found(given: GivenResults, depth: int = 10) -> Ranking:
    retriever = GivenRetriever()
    assert retriever.index(corpus_of({}), workspace(Path())) == {"kind": "given"}
    return retriever.search([Query("q", "질문", True, {"a": 1}, given=given)], depth)[0]


def test_the_given_ranking() -> None:
    ranking = found(GivenResults(ranking=(("a", 0.9), ("b#1", 0.4))))
    assert ranking == Ranking(("a", "b#1"), (0.9, 0.4), (0.9, 0.4))


def test_scores_on_an_unknown_scale_say_nothing_absolute() -> None:
    assert found(GivenResults(ranking=(("a", 12.5), ("b", 0.4)))).relevance == (1.0, 1.0)
    assert found(GivenResults(ranking=(("a", 0.5), ("b", -1.0)))).relevance == (1.0, 1.0)


def test_order_and_duplicates() -> None:
    ranking = found(GivenResults(ranking=(("a", 0.5), ("b", 0.5), ("c", 0.7), ("c", 0.1))))
    assert ranking.ids == ("c", "b", "a")
    assert ranking.scores == (0.7, 0.5, 0.5)
    assert found(GivenResults(ranking=(("a", 0.5), ("c", 0.7))), depth=1).ids == ("c",)


def test_contexts_where_there_is_no_ranking() -> None:
    contexts = (Context("b", "둘"), Context("a", "하나"))
    assert found(GivenResults(contexts=contexts)) == Ranking(("b", "a"), (1.0, 0.5), (1.0, 0.5))
    assert found(GivenResults(ranking=(("a", 1.0),), contexts=contexts)).ids == ("a",)


def test_an_empty_ranking_found_nothing() -> None:
    assert found(GivenResults(ranking=(), contexts=(Context("a", ""),))) == Ranking((), (), ())


def test_a_query_with_neither_fails() -> None:
    with pytest.raises(EvaluationError, match=r"^query q: ranking: missing, and no contexts either"):
        found(GivenResults())


def test_ranks_without_a_corpus(tmp_path: Path) -> None:
    retriever, empty = GivenRetriever(), corpus_of({})
    query = Query("q", "질문", True, {}, given=GivenResults(ranking=(("노트.md", 2.0), ("b", 1.0))))
    searcher = Searcher(retriever, empty, depth=1, timeout_ms=1000, seed=1)
    ranked = rank_all(searcher, [query], workspace(tmp_path, retriever))
    assert documents(ranked["q"].ranking, empty).ids == ("노트.md",)
