"""Against the interface of OpenSearch as it is documented (tests.services.opensearch_server), not against an
OpenSearch: terms are words there, whatever the analyzer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("opensearchpy", reason="the extra opensearch is not installed")

from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.store_keyword import StoreKeywordRetriever
from plugins.store.faiss import FaissStore
from plugins.store.opensearch import OpensearchStore
from plugins.tokenizer.word import WordTokenizer
from runner.errors import CorpusError, EvaluationError, InputError, StopRunError
from runner.llm.rehearsal import Rehearsal
from runner.records import Corpus, Ranking
from runner.run.rehearsal_workspace import Scratch
from tests.corpora import corpus_of, question, workspace
from tests.services.opensearch_server import PASSWORD, USER, VARIABLE, Indexes, serving_indexes
from tests.store_kinds import FILTERS, corpus

WORDS = ("fox", "hen", "red", "blue", "환불", "기간", "가입", "7일")


def passages(seed: int = 3, count: int = 60) -> Corpus:
    """Of up to twelve words of eight; every tenth is that before it, so that there are ties."""
    draw = np.random.default_rng(seed)
    texts = [" ".join(draw.choice(WORDS, draw.integers(1, 12))) for _ in range(count)]
    texts[9::10] = texts[8::10]
    return corpus_of({f"{n:03}": text for n, text in enumerate(texts)})


QUESTIONS = [question(text) for text in ("red fox", "환불 기간", "red red hen 7일", "unheard", "unheard fox", "", "?")]


_opened: list[StoreKeywordRetriever] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Indexes]:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with serving_indexes() as indexes:
        yield indexes
        while _opened:
            _opened.pop().close()


def indexed(
    server: Indexes, root: Path, own: Corpus, retries: int = 3, **options: Any
) -> tuple[StoreKeywordRetriever, Mapping[str, Any]]:
    store = OpensearchStore(url=server.url, username=USER, password_env=VARIABLE, batch_size=25, retries=retries)
    retriever = StoreKeywordRetriever(store=store, plan=KeywordRetriever(tokenizer=WordTokenizer()), **options)
    _opened.append(retriever)
    return retriever, retriever.index(own, workspace(root, retriever, store))


def bm25(root: Path, own: Corpus, k1: float = 1.2, **options: Any) -> KeywordRetriever:
    """The same formula in this process."""
    retriever = KeywordRetriever(tokenizer=WordTokenizer(), k1=k1, **options)
    retriever.index(own, workspace(root, retriever))
    return retriever


def is_the_same(found: list[Ranking], expected: list[Ranking]) -> bool:
    return [ranking.ids for ranking in found] == [ranking.ids for ranking in expected] and all(
        np.allclose(mine.scores, theirs.scores) and np.allclose(mine.relevance, theirs.relevance)
        for mine, theirs in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("settings", [{}, {"k1": 0.9, "b": 0.4}])
def test_ranks_and_scores_are_those_of_the_same_formula_here(
    server: Indexes, tmp_path: Path, settings: dict[str, float]
) -> None:
    server.faults = [503]
    retriever, facts = indexed(server, tmp_path / "server", passages(), **settings)
    assert facts["kind"] == "bm25" and facts["analyzer"] == "nori" and facts["collection"] in server.indexes
    expected = bm25(tmp_path / "here", passages(), **settings).search(QUESTIONS, 20)
    assert is_the_same(retriever.search(QUESTIONS, 20), expected)
    assert [bool(ranking.ids) for ranking in expected] == [True, True, True, False, True, False, False]
    retriever.close()
    assert is_the_same(
        retriever.search(QUESTIONS[:1], 5), bm25(tmp_path / "here", passages(), **settings).search(QUESTIONS[:1], 5)
    )
    retriever.close()


def test_relevance_does_not_depend_on_the_version_of_the_server(server: Indexes, tmp_path: Path) -> None:
    """Before version 3 its scores are multiplied by k1 + 1."""
    new = indexed(server, tmp_path, passages())[0].search(QUESTIONS, 20)
    server.version = "2.19.1"
    old = indexed(server, tmp_path, passages())[0].search(QUESTIONS, 20)
    for mine, theirs in zip(old, new, strict=True):
        assert np.allclose(mine.relevance, theirs.relevance)
        assert np.allclose(mine.scores, np.array(theirs.scores) * 2.2)


def test_filters_as_the_search_here(server: Indexes, tmp_path: Path) -> None:
    asked = [question(f"text {n}") for n in range(0, 120, 7)]
    for number, wanted in enumerate(FILTERS):
        expected = bm25(tmp_path / f"here {number}", corpus(), filter=wanted).search(asked, 15)
        retriever, facts = indexed(server, tmp_path / f"server {number}", corpus(), filter=wanted)
        assert is_the_same(retriever.search(asked, 15), expected)
        assert facts["n_candidates"] < 120
    with pytest.raises(InputError, match="no document has a value of 'colour'"):
        indexed(server, tmp_path, corpus(), filter={"colour": "red"})


def test_a_collection_is_filled_once_and_again_where_it_has_lost_texts(server: Indexes, tmp_path: Path) -> None:
    first, facts = indexed(server, tmp_path, passages())
    expected = first.search(QUESTIONS, 20)
    _, documents = server.indexes[facts["collection"]]
    before = dict(documents)
    assert indexed(server, tmp_path, passages())[0].search(QUESTIONS, 20) == expected
    assert documents == before
    for number in range(30, 60):
        del documents[str(number)]
    assert indexed(server, tmp_path, passages())[0].search(QUESTIONS, 20) == expected
    indexed(server, tmp_path, passages(), analyzer="english")
    assert len(server.indexes) == 2


def test_a_plan_asks_no_store(server: Indexes, tmp_path: Path) -> None:
    store = OpensearchStore(url=server.url, username=USER, password_env=VARIABLE)
    plan = KeywordRetriever(tokenizer=WordTokenizer())
    retriever = StoreKeywordRetriever(store=store, plan=plan)
    real = workspace(tmp_path / "real", retriever, store, plan)
    before = retriever.provenance
    retriever.index(passages(), Scratch(real.root, tmp_path / "scratch", Rehearsal()).workspace(real))
    expected = bm25(tmp_path / "here", passages(), k1=1.5).search(QUESTIONS, 5)
    assert retriever.search(QUESTIONS, 5) == expected
    assert not server.indexes and retriever.provenance != before
    retriever.index(passages(), real)
    assert len(server.indexes) == 1 and retriever.provenance == before
    retriever.close()


def test_what_is_wrong_is_one_line(server: Indexes, tmp_path: Path) -> None:
    with pytest.raises(StopRunError, match=r"answers 400 .*\[unheard\] has not been configured in mappings"):
        indexed(server, tmp_path, passages(), analyzer="unheard")
    with pytest.raises(CorpusError, match="the corpus is empty"):
        indexed(server, tmp_path, corpus_of({}))
    retriever, _ = indexed(server, tmp_path, passages())
    with pytest.raises(EvaluationError, match="takes this query not: 400 maxClauseCount is set to 1024"):
        retriever.search([question(" ".join(f"w{n}" for n in range(1100)))], 5)
    plan = KeywordRetriever(tokenizer=WordTokenizer())
    assert [str(each) for each in StoreKeywordRetriever(store=FaissStore(), plan=plan).preflight()] == [
        "store: this one ranks no words; expected store=opensearch, or retriever=keyword"
    ]
    with pytest.raises(RuntimeError, match="index"):
        StoreKeywordRetriever(store=FaissStore(), plan=plan).search(QUESTIONS, 3)
