from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from plugins.retriever.oracle import OracleRetriever
from runner.protocols import Workspace
from runner.records import Corpus, Query, Span
from runner.retrieval.rankings import rank_all
from runner.retrieval.searching import Searcher
from tests.corpora import corpus_of, workspace

CORPUS = corpus_of({"a": ["a zero ", "a one ", "a two "], "b": ["b zero ", "b one "], "c": "c zero ", "d": "d zero "})
QUERY = Query("q", "?", True, {"b": 1, "a": 2, "c": 0})


def opened(mode: Literal["gold", "random", "none"], corpus: Corpus = CORPUS, seed: int = 42) -> OracleRetriever:
    retriever = OracleRetriever(mode=mode, seed=seed)
    assert retriever.index(corpus, workspace(Path())) == {"kind": f"reference ({mode})"}
    return retriever


def ids(retriever: OracleRetriever, query: Query = QUERY, depth: int = 10) -> list[str]:
    (ranking,) = retriever.search([query], depth)
    assert ranking.scores == tuple(1 / rank for rank in range(1, len(ranking.ids) + 1))
    assert set(ranking.relevance) <= {1.0}
    return list(ranking.ids)


def changed(**fields: Any) -> Query:
    return Query("q", "?", True, QUERY.relevance, **fields)


def test_gold_takes_the_best_grade_first_and_one_of_each_document_in_turn() -> None:
    assert ids(opened("gold")) == ["a#0", "b#0", "a#1", "b#1", "a#2"]
    assert ids(opened("gold"), depth=2) == ["a#0", "b#0"]


def test_gold_prefers_labelled_chunks_then_those_that_hold_an_answer() -> None:
    assert ids(opened("gold"), changed(answers=("two", "one")))[:3] == ["a#1", "b#1", "a#2"]
    assert ids(opened("gold"), changed(answers=("one",), expected_chunks=("a#2",)))[:5] == [
        "a#2",
        "b#1",
        "a#1",
        "b#0",
        "a#0",
    ]
    assert ids(opened("gold"), changed(expected_spans=(Span("b", text="b one"),)))[:2] == ["a#0", "b#1"]


def test_gold_of_a_question_without_an_answer_or_of_documents_that_are_not_there_is_nothing() -> None:
    assert ids(opened("gold"), Query("q", "?", False, {})) == []
    assert ids(opened("gold"), Query("q", "?", True, {"elsewhere": 1})) == []


def test_gold_without_a_corpus_is_the_labels() -> None:
    assert ids(opened("gold", corpus_of({}))) == ["a", "b"]
    assert ids(opened("random", corpus_of({}))) == []


def test_none_finds_nothing() -> None:
    assert ids(opened("none")) == []


def test_random_draws_each_chunk_once_and_the_same_for_a_question_and_seed() -> None:
    drawn = ids(opened("random"))
    assert sorted(drawn) == sorted(chunk.id for chunk in CORPUS.chunks)
    assert ids(opened("random")) == drawn
    others = [Query(f"q{n}", "?", True, {}) for n in range(5)]
    together = opened("random").search([*others, QUERY], 10)
    assert list(together[-1].ids) == drawn
    assert len({ranking.ids for ranking in together}) == 6
    assert ids(opened("random", seed=7)) != drawn


def test_random_favours_no_chunk() -> None:
    retriever, first = opened("random"), dict.fromkeys((chunk.id for chunk in CORPUS.chunks), 0)
    for ranking in retriever.search([Query(f"q{n}", "?", True, {}) for n in range(7000)], 1):
        first[ranking.ids[0]] += 1
    assert all(1000 - 130 < count < 1000 + 130 for count in first.values())  # 4.4 standard deviations


def test_another_label_is_another_ranking_although_the_question_is_the_same(tmp_path: Path) -> None:
    """Rankings are kept on disk."""

    def ranked(query: Query, retriever: OracleRetriever) -> tuple[str, ...]:
        store: Workspace = workspace(tmp_path, retriever)
        retriever.index(CORPUS, store)
        found = rank_all(Searcher(retriever, CORPUS, depth=10, timeout_ms=9000, seed=1), [query], store)
        return found["q"].ranking.ids

    assert ranked(QUERY, OracleRetriever(mode="gold", seed=1))[0] == "a#0"
    assert ranked(Query("q", "?", True, {"d": 1}), OracleRetriever(mode="gold", seed=1)) == ("d#0",)


@pytest.mark.parametrize("mode", ["gold", "random", "none"])
def test_it_says_that_it_is_a_reference(mode: Literal["gold", "random", "none"]) -> None:
    assert OracleRetriever(mode=mode, seed=1).reference == mode
