from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.embedder.e5 import E5Embedder
from plugins.embedder.lsa import LsaEmbedder
from plugins.retriever.hybrid import HybridRetriever
from plugins.retriever.keyword import KeywordRetriever
from plugins.retriever.semantic import SemanticRetriever
from plugins.tokenizer.auto import AutoTokenizer
from runner.protocols import CachedRetriever, Retriever, Workspace
from runner.records import Corpus, Query, Ranking
from runner.retrieval.fusion import convex_values
from tests.corpora import corpus_of, question, workspace


class Fixed:
    """A leg with one ranking for every query; relevance is a tenth of the score."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = dict(scores)

    def index(self, corpus: Corpus, workspace: Workspace) -> Mapping[str, Any]:
        return {"kind": "fixed", "size_bytes": 10}

    def search(self, queries: Sequence[Query], depth: int) -> list[Ranking]:
        hits = sorted(self.scores.items(), key=lambda hit: (hit[1], hit[0]), reverse=True)[:depth]
        ids, scores = (tuple(column) for column in zip(*hits, strict=True)) if hits else ((), ())
        return [Ranking(ids, scores, tuple(score / 10 for score in scores)) for _ in queries]


class Paid(Fixed):
    caches = True

    def is_cached(self, queries: Sequence[Query]) -> list[bool]:
        return [query.id == "known" for query in queries]

    def warm_up(self) -> None:
        self._warm = True


CORPUS = corpus_of({id: id for id in "abcd"})


def fused(keyword: Mapping[str, float], semantic: Mapping[str, float], depth: int = 10, **options: Any) -> Ranking:
    chunks = [{f"{id}#0": score for id, score in leg.items()} for leg in (keyword, semantic)]
    hybrid = HybridRetriever(keyword=Fixed(chunks[0]), semantic=Fixed(chunks[1]), **options)
    hybrid.index(CORPUS, workspace(Path(), hybrid))
    return hybrid.search([question("x")], depth)[0]


@pytest.mark.parametrize(
    ("semantic", "weight"),
    [
        (SemanticRetriever(embedder=LsaEmbedder()), 0.4),
        (SemanticRetriever(embedder=E5Embedder()), 0.3),
        (Fixed({}), 0.5),  # it says nothing of it
    ],
)
def test_the_weight_follows_the_embedder(semantic: Retriever, weight: float) -> None:
    assert HybridRetriever(keyword=Fixed({}), semantic=semantic).weight == weight
    assert HybridRetriever(keyword=Fixed({}), semantic=semantic, weight=0.9).weight == 0.9


ALL = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
OTHER = {"a": 0.0, "b": 0.9, "c": 0.0, "d": 0.3}


def test_min_max_by_hand() -> None:
    ranking = fused(ALL, OTHER, normalization="minmax", weight=0.5)
    # keyword: 1, 2/3, 1/3, 0; semantic: 0, 1, 0, 1/3
    assert ranking.ids == ("b#0", "a#0", "d#0", "c#0")
    assert ranking.scores == pytest.approx((5 / 6, 1 / 2, 1 / 6, 1 / 6))


def test_z_scores_by_hand() -> None:
    ranking = fused(ALL, OTHER, weight=0.7)
    keyword = (np.array([4, 3, 2, 1]) - 2.5) / np.std([4, 3, 2, 1])
    semantic = (np.array([0, 0.9, 0, 0.3]) - 0.3) / np.std([0, 0.9, 0, 0.3])
    expected = dict(zip(("a#0", "b#0", "c#0", "d#0"), 0.7 * keyword + 0.3 * semantic, strict=True))
    assert dict(zip(ranking.ids, ranking.scores, strict=True)) == pytest.approx(expected)


def test_what_a_leg_has_exhausted_counts_as_zero() -> None:
    ranking = fused({"a": 2.0}, {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.4}, normalization="minmax", weight=0.5)
    # keyword: 1, then 0 for b, c, d that it did not find; semantic: 0, 1, 1/2, 3/8
    assert ranking.ids == ("b#0", "a#0", "c#0", "d#0")
    assert ranking.scores == pytest.approx((0.5, 0.5, 0.25, 0.1875))


def test_what_is_beyond_the_pool_counts_as_the_lowest_in_it() -> None:
    ranking = fused({"a": 4.0, "b": 3.0, "c": 2.0}, OTHER, normalization="minmax", weight=0.5, pool=2)
    # pools: keyword a 1, b 0; semantic b 1, d 0; a in semantic and d in keyword: 0
    assert dict(zip(ranking.ids, ranking.scores, strict=True)) == {"a#0": 0.5, "b#0": 0.5, "d#0": 0.0}


def test_scores_are_normalised_over_the_best_hundred() -> None:
    scores = np.arange(101.0, -1, -1)  # the hundredth is 2
    missing, values = convex_values(scores, pool=300, total=1000, normalization="minmax")
    assert values[[0, 99, 101]] == pytest.approx([1, 0, -2 / 99])
    assert missing == pytest.approx(-2 / 99)  # nothing was found but these


def test_a_leg_gives_three_hundred() -> None:
    ids = [f"{number:03}" for number in range(302)]
    hybrid = HybridRetriever(keyword=Fixed({f"{id}#0": 400.0 - int(id) for id in ids}), semantic=Fixed({}))
    hybrid.index(corpus_of(dict.fromkeys(ids, "x")), workspace(Path(), hybrid))
    (ranking,) = hybrid.search([question("x")], 500)
    assert (len(ranking.ids), ranking.ids[-1]) == (300, "299#0")


def test_reciprocal_ranks_by_hand() -> None:
    ranking = fused({"a": 9.0, "b": 8.0}, {"b": 0.9, "c": 0.8}, fusion="rrf", weight=1.0)
    assert ranking.ids == ("b#0", "a#0", "c#0")
    assert ranking.scores == pytest.approx((1 / 62 + 1 / 61, 1 / 61, 1 / 62))


def test_a_small_rrf_k_counts_the_first_places_for_more() -> None:
    """a is first once; b is second once and third once."""
    keyword, semantic = {"a": 9.0, "b": 8.0}, {"c": 0.9, "d": 0.8, "b": 0.7}
    ranking = fused(keyword, semantic, fusion="rrf", rrf_k=1)
    assert dict(zip(ranking.ids, ranking.scores, strict=True))["b#0"] == pytest.approx(1 / 3 + 1 / 4)
    assert dict(zip(ranking.ids, ranking.scores, strict=True))["a#0"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_relevance_is_the_weighted_mix_of_the_legs(fusion: str) -> None:
    ranking = fused({"a": 8.0, "b": 4.0}, {"a": 2.0, "c": 1.0}, fusion=fusion, weight=0.75)
    relevance = dict(zip(ranking.ids, ranking.relevance, strict=True))
    assert relevance == pytest.approx({"a#0": 0.65, "b#0": 0.3, "c#0": 0.025})


def test_legs_stand_beside_the_fusion_to_the_same_depth() -> None:
    ranking = fused(ALL, OTHER, depth=2)
    assert ranking.ids == ("b#0", "a#0")
    assert ranking.legs["keyword"] == Ranking(("a#0", "b#0"), (4.0, 3.0), (0.4, 0.3))
    assert ranking.legs["semantic"].ids == ("b#0", "d#0")


def test_a_leg_alone_or_none() -> None:
    assert fused({}, OTHER).ids == ("b#0", "d#0", "c#0", "a#0")
    assert fused(ALL, {}).ids == ("a#0", "b#0", "c#0", "d#0")
    assert fused({}, {}).ids == ()
    assert fused({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, pool=2).ids == ("b#0", "a#0")


SCORES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 50).map(lambda tenths: tenths / 10), max_size=4)


@settings(deadline=None)
@given(SCORES, SCORES, st.sampled_from(["convex", "rrf"]), st.sampled_from(["zscore", "minmax"]), st.integers(1, 4))
def test_depth_only_cuts(
    keyword: dict[str, float], semantic: dict[str, float], fusion: str, normalization: str, depth: int
) -> None:
    options = {"fusion": fusion, "normalization": normalization, "pool": 3}
    whole, part = fused(keyword, semantic, 4, **options), fused(keyword, semantic, depth, **options)
    assert part.ids == whole.ids[:depth]
    assert part.scores == whole.scores[:depth]
    assert part.relevance == whole.relevance[:depth]


@settings(deadline=None)
@given(SCORES, SCORES)
def test_a_weight_of_one_is_the_keyword_order(keyword: dict[str, float], semantic: dict[str, float]) -> None:
    ranking = fused(keyword, semantic, weight=1.0)
    assert ranking.ids[: len(keyword)] == ranking.legs["keyword"].ids


def test_a_leg_that_remembers_is_asked(tmp_path: Path) -> None:
    free = HybridRetriever(keyword=Fixed({}), semantic=Fixed({}))
    paid = HybridRetriever(keyword=Fixed({}), semantic=Paid({}))
    assert isinstance(paid, CachedRetriever)
    assert (free.caches, paid.caches) == (False, True)
    queries = [question("x", id="known"), question("x", id="new")]
    assert paid.is_cached(queries) == [True, False]
    assert free.is_cached(queries) == [False, False]
    paid.warm_up()
    assert paid.legs["semantic"]._warm  # type: ignore[attr-defined]


def test_with_real_legs(tmp_path: Path) -> None:
    texts = {
        "refund": "환불은 7일 안에 신청합니다",
        "delivery": "배송은 사흘 걸립니다",
        "points": "Points expire after a year",
    }
    keyword = KeywordRetriever(tokenizer=AutoTokenizer())
    embedder = LsaEmbedder()
    semantic = SemanticRetriever(embedder=embedder)
    hybrid = HybridRetriever(keyword=keyword, semantic=semantic)
    facts = hybrid.index(corpus_of(texts), workspace(tmp_path, keyword, embedder, semantic, hybrid))
    assert hybrid.provenance == {"keyword": keyword.provenance, "semantic": semantic.provenance}
    assert facts["keyword"]["kind"] == "bm25"
    assert facts["semantic"]["kind"] == "flat"
    assert facts["size_bytes"] == facts["keyword"]["size_bytes"] + facts["semantic"]["size_bytes"]
    answers = hybrid.search(
        [question("환불 신청"), question("배송"), question("point"), question(""), question("???")], 3
    )
    assert [ranking.ids[:1] for ranking in answers] == [("refund#0",), ("delivery#0",), ("points#0",), (), ()]
    assert all(0 <= value <= 1 for ranking in answers for value in ranking.relevance)
