from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.domains.links.graph_rerank import CENTRALITY, POOL, GraphRerank, normalise_scores
from runner.records import Corpus, Ranking, Trajectory
from runner.system.store import Store
from tests.corpora import corpus_of

LINKED = {"a": "[[b]]", "b": "", "c": "[[d]]", "d": ["", "second"]}


def indexed(graph: GraphRerank, corpus: Corpus) -> Mapping[str, object]:
    with TemporaryDirectory() as folder:
        return graph.index(corpus, Store(Path(folder)))


def reranked(
    corpus: Corpus, ranking: Ranking, weight: float = 1.0, depth: int = 10, enabled: bool | None = None
) -> Ranking:
    graph = GraphRerank(enabled, weight)
    indexed(graph, corpus)
    deep = graph.depth(depth)
    top = Ranking(ranking.ids[:deep], ranking.scores[:deep], ranking.relevance[:deep], ranking.legs)
    return graph.rerank([top], depth)[0]


def test_by_hand() -> None:
    found = Ranking(("a#0", "c#0", "d#1", "b#0"), (8.0, 6.0, 5.0, 2.0), (0.9, 0.7, 0.5, 0.3))
    ranking = reranked(corpus_of(LINKED), found)
    # worth: a 1, c .75, d .625, b .25; pairs of degree 1 give each other all they are worth.
    # PageRank: a and c have x, and b and d, whom they link to, x + .85 x
    low = CENTRALITY / 1.85
    expected = {
        "a#0": 1 + 0.25 + low,
        "b#0": 0.25 + 1 + CENTRALITY,
        "c#0": 0.75 + 0.625 + low,
        "d#1": 0.625 + 0.75 + CENTRALITY,
    }
    assert dict(zip(ranking.ids, ranking.scores, strict=True)) == pytest.approx(expected, rel=1e-9)
    assert ranking.ids == ("d#1", "c#0", "b#0", "a#0")
    assert ranking.relevance == (0.5, 0.7, 0.3, 0.9)
    assert ranking.legs == {"no_graph": found}


def test_the_weight_decides_how_much() -> None:
    found = Ranking(("a#0", "c#0", "d#1", "b#0"), (8.0, 6.0, 4.0, 2.0), (0.9, 0.7, 0.5, 0.3))
    assert reranked(corpus_of(LINKED), found, weight=0.0).ids == found.ids
    assert reranked(corpus_of(LINKED), found, weight=0.01).ids == found.ids


def test_all_chunks_of_a_document_gain_alike() -> None:
    corpus = corpus_of({"a": "[[d]]", "d": ["one", "two"], "e": ""})
    ranking = reranked(corpus, Ranking(("e#0", "d#0", "d#1", "a#0"), (4.0, 3.0, 2.0, 0.0), (0.0,) * 4))
    scores = dict(zip(ranking.ids, ranking.scores, strict=True))
    assert scores["d#0"] - scores["d#1"] == pytest.approx(0.25)
    assert scores["d#0"] - 0.75 == pytest.approx(0.0 + CENTRALITY)  # its neighbour is worth nothing


@pytest.mark.parametrize(("enabled", "legs"), [(None, set()), (False, set()), (True, {"no_graph"})])
def test_without_links_the_order_stays(enabled: bool | None, legs: set[str]) -> None:
    corpus = corpus_of({"a": "[[nowhere]]", "b": "`[[a]]`"})
    found = Ranking(("a#0", "b#0"), (2.0, 1.0), (0.5, 0.4))
    ranking = reranked(corpus, found, enabled=enabled)
    assert (ranking.ids, ranking.relevance, set(ranking.legs)) == (found.ids, found.relevance, legs)
    if not legs:
        assert ranking == found


def test_facts() -> None:
    corpus = corpus_of({"a": "[[b]] [[nowhere]]", "b": "[[x]]", "1/x": "", "2/x": ""})
    assert indexed(GraphRerank(None, 1.0), corpus) == {"graph": {"links": 1, "broken": 1, "ambiguous": 1}}
    assert indexed(GraphRerank(False, 1.0), corpus) == indexed(GraphRerank(None, 1.0), corpus_of({"a": ""})) == {}


def test_legs_and_trajectory_are_kept() -> None:
    leg = Ranking(("b#0", "a#0"), (2.0, 1.0), (0.2, 0.1))
    graph = GraphRerank(None, 0.1)
    indexed(graph, corpus_of(LINKED))
    found = Ranking(("a#0",), (1.0,), (1.0,), {"keyword": leg}, Trajectory((), "sufficient"))
    (ranking,) = graph.rerank([found], 1)
    assert ranking.trajectory == found.trajectory
    assert ranking.legs["keyword"] == Ranking(("b#0",), (2.0,), (0.2,))
    assert ranking.legs["no_graph"] == Ranking(("a#0",), (1.0,), (1.0,))


def test_nothing_found_stays_nothing() -> None:
    assert reranked(corpus_of(LINKED), Ranking((), (), ())).ids == ()


def test_an_index_without_links_after_one_with_links() -> None:
    graph = GraphRerank(None, 1.0)
    indexed(graph, corpus_of(LINKED))
    indexed(graph, corpus_of({"a": ""}))
    found = Ranking(("a#0",), (3.0,), (1.0,))
    assert graph.rerank([found], 5) == [found]


def test_normalised() -> None:
    assert normalise_scores(np.array([4.0, 2.0, 1.0])).tolist() == [1.0, 0.5, 0.25]  # what was not found is worth 0
    assert normalise_scores(np.array([1.0, -1.0])).tolist() == [1.0, 0.0]
    assert normalise_scores(np.array([0.0, 0.0])).tolist() == [0.0, 0.0]
    many = normalise_scores(np.arange(POOL + 10, 0, -1.0))
    assert (many[0], many[POOL - 1]) == (1.0, 0.0)
    assert (many[POOL:] < 0).all()


def large() -> tuple[Corpus, Ranking]:
    """More chunks than the pool holds; the last one is linked with the first."""
    corpus = corpus_of({f"{n:03}": "[[000]]" if n in (7, 100, 149) else "" for n in range(150)})
    ids = tuple(f"{n:03}#0" for n in range(150))
    return corpus, Ranking(ids, tuple(float(150 - n) for n in range(150)), (0.5,) * 150)


def test_what_ranks_behind_the_pool_stays_there() -> None:
    ranking = reranked(*large(), weight=5.0, depth=150)
    assert ranking.ids[POOL:] == large()[1].ids[POOL:]
    assert ranking.ids[:POOL] != large()[1].ids[:POOL]


@pytest.mark.parametrize("depth", [1, 5, 99, 100, 120])
def test_the_depth_asked_for_moves_nothing(depth: int) -> None:
    whole = reranked(*large(), depth=150)
    part = reranked(*large(), depth=depth)
    assert (part.ids, part.scores) == (whole.ids[:depth], whole.scores[:depth])
    assert part.legs["no_graph"].ids == whole.legs["no_graph"].ids[:depth]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=6, max_size=6), st.permutations(range(6)))
def test_nothing_is_lost_and_ties_go_by_id(links: list[list[int]], order: list[int]) -> None:
    corpus = corpus_of({f"n{a}": " ".join(f"[[n{b}]]" for b in out) for a, out in enumerate(links)})
    found = Ranking(tuple(f"n{n}#0" for n in order), tuple(6.0 - n for n in range(6)), (0.5,) * 6)
    ranking = reranked(corpus, found, enabled=True)
    assert set(ranking.ids) == set(found.ids)
    pairs = list(zip(ranking.scores, ranking.ids, strict=True))
    assert pairs == sorted(pairs, reverse=True)
