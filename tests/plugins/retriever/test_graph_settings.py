"""`graph_rerank` and `graph_weight` of every retriever that ranks a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose, initialize_config_module

from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.hybrid import HybridRetriever
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.word import WordTokenizer
from runner.protocols import Retriever
from runner.records import Corpus, Ranking
from tests.corpora import corpus_of, question, workspace

LINKED = corpus_of(
    {
        "n1": "The red fox hunts at night in the wood. [[n3]]",
        "n2": "A red hen hunts worms in the yard.",
        "n3": "Home of red fur under roots. [[n1]]",
        "n4": "The cow eats grass.",
    }
)
UNLINKED = corpus_of({"fox": "The red fox hunts at night.", "hen": "A red hen.", "den": "A red home."})
QUESTION = "where does the red fox hunt at night"


def retriever_of(kind: str, legs: bool | None = False, **options: object) -> Retriever:
    if kind == "keyword":
        return KeywordRetriever(tokenizer=WordTokenizer(), **options)  # type: ignore[arg-type]
    if kind == "semantic":
        return SemanticRetriever(embedder=LsaEmbedder(), **options)  # type: ignore[arg-type]
    keyword, semantic = (retriever_of(leg, graph_rerank=legs, graph_weight=9.0) for leg in ("keyword", "semantic"))
    return HybridRetriever(keyword=keyword, semantic=semantic, **options)  # type: ignore[arg-type]


def search(retriever: Retriever, corpus: Corpus, root: Path) -> Ranking:
    parts = [retriever, *getattr(retriever, "legs", {}).values()]
    parts += [getattr(part, name) for part in parts for name in ("tokenizer", "embedder") if hasattr(part, name)]
    retriever.index(corpus, workspace(root, *parts))
    return retriever.search([question(QUESTION)], 4)[0]


@pytest.mark.parametrize("kind", ["keyword", "semantic", "hybrid"])
def test_links_move_the_ranking_and_the_one_without_them_stands_beside(kind: str, tmp_path: Path) -> None:
    plain = search(retriever_of(kind, graph_rerank=False), LINKED, tmp_path)
    moved = search(retriever_of(kind, graph_weight=3.0), LINKED, tmp_path)
    assert plain.ids.index("n2#0") < plain.ids.index("n3#0")
    assert moved.ids.index("n3#0") < moved.ids.index("n2#0")
    assert search(retriever_of(kind, graph_weight=0.0), LINKED, tmp_path).ids == plain.ids
    beside = moved.legs["no_graph"]
    assert (beside.ids, beside.scores, beside.relevance) == (plain.ids, plain.scores, plain.relevance)
    assert dict(zip(moved.ids, moved.relevance, strict=True)) == dict(zip(plain.ids, plain.relevance, strict=True))
    assert {name: leg for name, leg in moved.legs.items() if name != "no_graph"} == dict(plain.legs)


@pytest.mark.parametrize("kind", ["keyword", "semantic", "hybrid"])
def test_without_links_nothing_changes(kind: str, tmp_path: Path) -> None:
    plain = search(retriever_of(kind, graph_rerank=False), UNLINKED, tmp_path)
    assert search(retriever_of(kind, graph_weight=3.0), UNLINKED, tmp_path) == plain


@pytest.mark.parametrize("kind", ["keyword", "semantic", "hybrid"])
def test_the_facts_tell_of_the_graph(kind: str, tmp_path: Path) -> None:
    for graph_rerank, told in ((None, True), (False, False)):
        retriever = retriever_of(kind, graph_rerank=graph_rerank)
        search(retriever, LINKED, tmp_path)
        parts = [retriever, *getattr(retriever, "legs", {}).values()]
        parts += [getattr(part, name) for part in parts for name in ("tokenizer", "embedder") if hasattr(part, name)]
        facts = retriever.index(LINKED, workspace(tmp_path, *parts))
        assert ("graph" in facts) is told
        assert facts.get("graph", {"links": 2})["links"] == 2


def test_a_leg_that_asks_for_it_is_reranked_before_the_fusion(tmp_path: Path) -> None:
    plain = search(retriever_of("hybrid", legs=False, graph_rerank=False), LINKED, tmp_path)
    moved = search(retriever_of("hybrid", legs=True, graph_rerank=False), LINKED, tmp_path)
    assert set(moved.legs) == {"keyword", "semantic"}
    assert moved.legs["keyword"].ids != plain.legs["keyword"].ids
    assert moved.ids != plain.ids


def test_the_legs_of_the_configured_hybrid_leave_it_to_the_fusion() -> None:
    with initialize_config_module("conf", version_base="1.3"):
        retriever = compose("config", ["+experiment=retrieval_only"]).retriever
    assert (retriever.graph_rerank, retriever.graph_weight) == (None, 0.1)
    assert retriever.keyword.graph_rerank is retriever.semantic.graph_rerank is False
