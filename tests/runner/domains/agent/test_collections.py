from __future__ import annotations

from pathlib import Path

from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.domains.agent.collections import index_parts, split
from runner.records import Query
from tests.corpora import workspace
from tests.runner.domains.agent.shelves import sectioned

CORPUS = sectioned(
    faq=[("", "예산 알림은 한 번 갑니다")],
    guide=[("", "예산을 만듭니다"), ("", "알림을 고릅니다")],
    faq2=[("", "통화")],
)


def test_a_corpus_of_faq_and_guides_has_two_collections() -> None:
    parts = split(CORPUS)
    assert {kind: [chunk.id for chunk in part.chunks] for kind, part in parts.items()} == {
        "faq": ["faq#0", "faq2#0"],
        "guide": ["guide#0", "guide#1"],
    }
    assert len({CORPUS.fingerprint, *(part.fingerprint for part in parts.values())}) == 3


def test_any_other_corpus_is_one_collection() -> None:
    assert split(sectioned(faq=[("", "a")])) == {}
    assert split(sectioned(faq=[("", "a")], guide=[("", "a")], other=[("", "a")])) == {}


def test_each_collection_is_indexed_by_a_retriever_of_its_own(tmp_path: Path) -> None:
    """What is built is stored by the settings of the retriever that was copied, so that it is found again."""
    base = SemanticRetriever(embedder=LsaEmbedder())
    store = workspace(tmp_path, base, base.embedder)
    collections, facts = index_parts(base, split(CORPUS), {"faq": 1, "guide": 2}, store)
    assert [collection.count for collection in collections] == [1, 2]
    assert {kind: (fact["n_documents"], fact["n_chunks"]) for kind, fact in facts.items()} == {
        "faq": (2, 2),
        "guide": (1, 2),
    }
    base.index(CORPUS, store)
    question = [Query("q", "예산 알림", True, {})]
    found = [collection.retriever.search(question, 5)[0].ids for collection in collections]
    assert [set(ids) for ids in found] == [{"faq#0", "faq2#0"}, {"guide#0", "guide#1"}]
    assert len(base.search(question, 5)[0].ids) == 4
    folders = sorted(tmp_path.glob("semantic/*/manifest.json"))
    again = SemanticRetriever(embedder=LsaEmbedder())
    index_parts(again, split(CORPUS), {"faq": 1, "guide": 2}, workspace(tmp_path, again, again.embedder))
    assert sorted(tmp_path.glob("semantic/*/manifest.json")) == folders


def test_rare_words_are_rare_within_a_collection(tmp_path: Path) -> None:
    corpus = sectioned(faq=[("", "a b"), ("", "c")], guide=[("", "a"), ("", "a"), ("", "a")])
    base = KeywordRetriever(tokenizer=AutoTokenizer())
    store = workspace(tmp_path, base, base.tokenizer)
    (faq, _), _ = index_parts(base, split(corpus), {"faq": 1, "guide": 1}, store)
    base.index(corpus, store)
    asked = [Query("q", "a", True, {})]
    within, among_all = (each.search(asked, 1)[0].scores[0] for each in (faq.retriever, base))
    assert within > among_all
